// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is wrong with the page as it is shown now: a list of texts. browse.py runs this in each page.
(() => {
    const problems = [];
    const width = document.documentElement.clientWidth;

    function name(element) {
        const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
        const kind = typeof element.className === "string" && element.className.trim().split(/\s+/)[0];
        return `<${element.localName}${kind ? " ." + kind : ""}> "${text}"`;
    }

    function shown(element) {
        return element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    }

    // The box that a text runs out of, if it does. Boxes around one with a scrollbar do not count: it shows the rest.
    function left_box(element, text) {
        for (let e = element; e && e !== document.body; e = e.parentElement) {
            const style = getComputedStyle(e);
            if (/auto|scroll/.test(style.overflowX))
                return null;
            const box = e.getBoundingClientRect();
            if (style.display !== "inline" && box.width > 1 && (text.right > box.right + 1 || text.left < box.left - 1))
                return e;
        }
        return text.right > width + 1 || text.left < -1 ? document.body : null;
    }

    // The rectangle around an element's own text, without that of the elements in it; null if it has none.
    function text_box(element) {
        const boxes = [...element.childNodes].filter(n => n.nodeType === Node.TEXT_NODE && n.data.trim()).map(n => {
            const range = document.createRange();
            range.selectNodeContents(n);
            return range.getBoundingClientRect();
        });
        return boxes.length === 0 ? null : {
            left: Math.min(...boxes.map(b => b.left)), right: Math.max(...boxes.map(b => b.right)),
            bottom: Math.max(...boxes.map(b => b.bottom)),
        };
    }

    // Red, green, blue and opacity; the browser understands every notation.
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const colours = new Map();
    function colour(css) {
        if (!colours.has(css)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = css;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
            colours.set(css, [r, g, b, a / 255]);
        }
        return colours.get(css);
    }

    function over(top, below) {
        return [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
    }

    function background(element) {
        if (!element)
            return matchMedia("(prefers-color-scheme: dark)").matches &&
                getComputedStyle(document.documentElement).colorScheme.includes("dark") ? [18, 18, 18, 1] : [255, 255, 255, 1];
        const own = colour(getComputedStyle(element).backgroundColor);
        return own[3] === 1 ? own : over(own, background(element.parentElement));
    }

    function luminance(rgb) {
        const [r, g, b] = rgb.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    }

    // As in the Web Content Accessibility Guidelines: 1 is the same colour, 21 black on white.
    function contrast(element) {
        const below = background(element);
        const [a, b] = [over(colour(getComputedStyle(element).color), below), below].map(luminance);
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }

    if (document.documentElement.scrollWidth > width)
        problems.push(`the page is ${document.documentElement.scrollWidth} pixels wide, the screen ${width}`);

    if (width >= 1280)
        for (const table of document.querySelectorAll("table"))
            if (table.scrollWidth > table.parentElement.clientWidth + 1)
                problems.push(`${name(table)} needs a scrollbar on a desktop`);

    for (const image of document.images)
        if (!image.complete || image.naturalWidth === 0)
            problems.push(`broken image: ${image.getAttribute("src")}`);

    for (const element of document.body.querySelectorAll("*")) {
        if (element.closest("svg, script, style, noscript, template") || !shown(element))
            continue;
        const text = text_box(element);
        // What only screen readers read has a pixel; a menu that is not open is beside the screen.
        if (!text || text.right - text.left <= 1 || text.right <= 0 || text.left >= width || text.bottom + scrollY <= 0)
            continue;
        const left = left_box(element, text);
        if (left)
            problems.push(`${name(element)} runs out of its box, <${left.localName}>`);
        if (contrast(element) < 4.5)
            problems.push(`${name(element)} can hardly be read: its contrast is ${contrast(element).toFixed(1)}`);
    }
    return [...new Set(problems)];
})()
