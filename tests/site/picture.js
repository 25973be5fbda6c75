// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is wrong with a picture that is shown alone: a list of texts. A text belongs to the smallest rectangle that has
// its middle or, if none has, its beginning; there it must end. Other texts must be within the picture.
(() => {
    const rectangles = [...document.querySelectorAll("rect")].map(r => r.getBoundingClientRect())
        .sort((a, b) => a.width * a.height - b.width * b.height);
    const with_point = (x, y) =>
        rectangles.find(r => r.left <= x && x <= r.right && r.top <= y && y <= r.bottom);
    return [...document.querySelectorAll("text")].flatMap(text => {
        const box = text.getBoundingClientRect(), y = (box.top + box.bottom) / 2;
        const around = with_point((box.left + box.right) / 2, y) || with_point(box.left + 1, y) ||
            document.documentElement.getBoundingClientRect();
        return box.left >= around.left && box.right <= around.right ? [] :
            [`"${text.textContent.trim()}" runs out of its rectangle`];
    });
})()
