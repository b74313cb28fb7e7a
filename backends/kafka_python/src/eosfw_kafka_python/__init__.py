"""The kafka-python backend of eosfw."""

import warnings

with warnings.catch_warnings():
    # It reads its message schemas in an old way, on import; where warnings are errors nobody could import us.
    warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
    import kafka as kafka
