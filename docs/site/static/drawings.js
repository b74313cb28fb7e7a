// Drawings: buttons enlarge one, which then scrolls in its frame; so does the wheel with Ctrl, where the pointer is. Titles of
// their parts show without this, and files that are opened without a server have the buttons alone.
"use strict";

const FACTORS = [1, 1.5, 2, 3, 4];

class Zoom {
    constructor(drawing) {
        this.drawing = drawing;
        this.picture = drawing.querySelector("object");
        this.chosen = 0;
        this.turn = this.turn.bind(this); // one function, so that a document that is met twice has it once
        this.smaller = this.button("−", "Smaller", () => this.choose(this.chosen - 1));
        this.larger = this.button("+", "Larger", () => this.choose(this.chosen + 1));
        this.whole = this.button("Whole", "Whole drawing", () => this.choose(0));
        const tools = document.createElement("div");
        tools.className = "drawing-tools";
        tools.append(this.smaller, this.larger, this.whole);
        drawing.before(tools);
        drawing.tabIndex = 0; // the arrow keys scroll what has the focus
        this.choose(0);
        this.picture.addEventListener("load", () => this.listen());
        this.listen();
    }

    button(text, label, act) {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = text;
        made.setAttribute("aria-label", label);
        made.addEventListener("click", act);
        return made;
    }

    // What is at this place of the frame stays there.
    choose(wanted, x = this.drawing.clientWidth / 2, y = 0) {
        const before = this.picture.clientWidth;
        this.chosen = Math.min(Math.max(wanted, 0), FACTORS.length - 1);
        this.drawing.style.setProperty("--factor", FACTORS[this.chosen]);
        const growth = this.picture.clientWidth / before;
        this.drawing.scrollLeft = (this.drawing.scrollLeft + x) * growth - x;
        this.drawing.scrollTop = (this.drawing.scrollTop + y) * growth - y;
        this.smaller.disabled = this.whole.disabled = this.chosen === 0;
        this.larger.disabled = this.chosen === FACTORS.length - 1;
    }

    // The document of a drawing gets the events over it; it exists once it is loaded, and from a server only.
    listen() {
        this.picture.contentDocument?.addEventListener("wheel", this.turn, { passive: false });
    }

    turn(event) {
        if (event.ctrlKey) {
            event.preventDefault();
            const { scrollLeft, scrollTop } = this.drawing;
            this.choose(this.chosen - Math.sign(event.deltaY), event.clientX - scrollLeft, event.clientY - scrollTop);
        }
    }
}

for (const drawing of document.querySelectorAll(".drawing")) {
    new Zoom(drawing);
}
