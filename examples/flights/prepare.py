"""Write the flights of New York in 2013 as four CSV files: the source of this example's pipeline.

pip install eosfw-demo && python examples/flights/prepare.py

"""

from pathlib import Path

from eosfw_demo.flights import read_flights, split

FOLDER = Path(__file__).parent / "data"

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    header, lines = read_flights()
    for path in split(header, lines, FOLDER, 4):
        print(f"{path}: {path.stat().st_size:,} bytes")
