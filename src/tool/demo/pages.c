/* pages.c -- small web pages that work by themselves: no library, no network, no
 * storage that a sandboxed frame would refuse. Keyboard and screen reader first. */
#include "tool/demo/pages.h"

const char PAGE_HEAD[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" "
    "content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n<style>\n"
    ":root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }\n"
    "body { max-width: 26rem; margin: 2rem auto; padding: 0 1rem; }\n"
    "h1 { font-size: 1.4rem; }\n"
    "input, button { font: inherit; padding: .45rem .7rem; border-radius: .5rem; border: 1px solid "
    "#8888; }\n"
    "button { cursor: pointer; background: #2f6feb; color: #fff; border-color: transparent; }\n"
    "button:focus-visible, input:focus-visible { outline: 3px solid #f5a623; }\n"
    ".row { display: flex; gap: .5rem; } .row input { flex: 1; min-width: 0; }\n"
    ".quiet { background: transparent; color: inherit; border-color: #8888; }\n"
    ".big { font-size: 3rem; font-variant-numeric: tabular-nums; text-align: center; margin: 1rem "
    "0; }\n"
    "ul { list-style: none; padding: 0; } li { display: flex; gap: .5rem; align-items: center; "
    "padding: .3rem 0; }\n"
    "li label { flex: 1; } li.done label { text-decoration: line-through; opacity: .6; }\n"
    ".keys { display: grid; grid-template-columns: repeat(4, 1fr); gap: .4rem; } .keys button { "
    "padding: .8rem 0; }\n"
    "</style>\n</head>\n<body>\n<h1>{title}</h1>\n";

const char PAGE_FOOT[] = "</body>\n</html>\n";

const struct page PAGES[] = {
    { { "todo", "to-do", "to do", "task", "checklist", "shopping list" },
      "Todo app",
      "a list you can add to, tick off and clear",
      "<form class=\"row\" id=\"add\">\n<input id=\"what\" aria-label=\"New task\" "
      "placeholder=\"What needs doing?\" autofocus required>\n"
      "<button>Add</button>\n</form>\n<ul id=\"list\"></ul>\n"
      "<p class=\"row\"><span id=\"left\" role=\"status\" style=\"flex:1\"></span><button "
      "class=\"quiet\" id=\"clear\">Clear done</button></p>\n"
      "<script>\n"
      "const $ = id => document.getElementById(id);\n"
      "let tasks = [{ text: 'Try this list', done: false }, { text: 'Ask for a calculator next', "
      "done: false }];\n"
      "function draw() {\n"
      "  $('list').replaceChildren(...tasks.map((t, i) => {\n"
      "    const li = document.createElement('li'), box = document.createElement('input'), label = "
      "document.createElement('label');\n"
      "    const gone = document.createElement('button');\n"
      "    box.type = 'checkbox'; box.checked = t.done; box.id = 't' + i; label.htmlFor = box.id; "
      "label.textContent = t.text;\n"
      "    box.onchange = () => { t.done = box.checked; draw(); };\n"
      "    gone.className = 'quiet'; gone.textContent = 'Remove'; gone.onclick = () => { "
      "tasks.splice(i, 1); draw(); };\n"
      "    li.className = t.done ? 'done' : ''; li.append(box, label, gone); return li;\n"
      "  }));\n"
      "  const n = tasks.filter(t => !t.done).length;\n"
      "  $('left').textContent = n === 1 ? '1 task left' : n + ' tasks left';\n"
      "}\n"
      "$('add').onsubmit = e => { e.preventDefault(); const text = $('what').value.trim();\n"
      "  if (text) tasks.push({ text, done: false }); $('what').value = ''; draw(); };\n"
      "$('clear').onclick = () => { tasks = tasks.filter(t => !t.done); draw(); };\n"
      "draw();\n</script>\n" },
    { { "calculator", "calculate", "sum up" },
      "Calculator",
      "a calculator with four operations and keyboard input",
      "<div class=\"big\" id=\"show\" role=\"status\" aria-live=\"polite\">0</div>\n<div "
      "class=\"keys\" id=\"keys\"></div>\n"
      "<script>\n"
      "const show = document.getElementById('show'), keys = document.getElementById('keys');\n"
      "let shown = '0', held = null, op = null, fresh = true;\n"
      "const apply = (a, b) => ({ '+': a + b, '-': a - b, '*': a * b, '/': b ? a / b : NaN "
      "})[op];\n"
      "const tidy = n => Number.isFinite(n) ? String(+n.toPrecision(12)) : 'Not a number';\n"
      "function press(k) {\n"
      "  if (/^[0-9]$/.test(k)) { shown = fresh || shown === '0' ? k : shown + k; fresh = false; "
      "}\n"
      "  else if (k === '.') { if (fresh) { shown = '0'; fresh = false; } if "
      "(!shown.includes('.')) shown += '.'; }\n"
      "  else if (k === 'C') { shown = '0'; held = op = null; fresh = true; }\n"
      "  else { if (op && !fresh) shown = tidy(apply(held, +shown)); held = +shown; op = k === '=' "
      "? null : k; fresh = true; }\n"
      "  show.textContent = shown;\n"
      "}\n"
      "for (const k of ['7', '8', '9', '/', '4', '5', '6', '*', '1', '2', '3', '-', '0', '.', '=', "
      "'+', 'C']) {\n"
      "  const b = document.createElement('button'); b.textContent = k; b.onclick = () => "
      "press(k); keys.append(b);\n"
      "  if (!/[0-9.]/.test(k)) b.className = 'quiet';\n"
      "  if (k === 'C') b.style.gridColumn = 'span 4';\n"
      "}\n"
      "onkeydown = e => { const k = e.key === 'Enter' ? '=' : e.key === 'Escape' ? 'C' : e.key;\n"
      "  if (/^[-0-9.+*/=C]$/.test(k)) { e.preventDefault(); press(k); } };\n"
      "</script>\n" },
    { { "timer", "stopwatch", "countdown", "pomodoro", "hour" },
      "Timer",
      "a countdown you can start, pause and reset",
      "<div class=\"big\" id=\"time\" role=\"timer\">05:00</div>\n"
      "<p class=\"row\"><input id=\"min\" type=\"number\" min=\"1\" max=\"180\" value=\"5\" "
      "aria-label=\"Minutes\">\n"
      "<button id=\"go\">Start</button><button class=\"quiet\" id=\"reset\">Reset</button></p>\n<p "
      "id=\"said\" role=\"status\"></p>\n"
      "<script>\n"
      "const $ = id => document.getElementById(id);\n"
      "let left = 300000, until = 0, tick = 0;\n"
      "const two = n => String(n).padStart(2, '0');\n"
      "function draw() { const s = Math.ceil(left / 1000); $('time').textContent = "
      "two(Math.floor(s / 60)) + ':' + two(s % 60); }\n"
      "function stop() { clearInterval(tick); tick = 0; $('go').textContent = 'Start'; }\n"
      "function step() { left = Math.max(0, until - Date.now()); draw(); if (!left) { stop(); "
      "$('said').textContent = 'Time is up.'; } }\n"
      "$('go').onclick = () => { if (tick) { stop(); return; } if (!left) return;\n"
      "  $('said').textContent = ''; until = Date.now() + left; tick = setInterval(step, 200); "
      "$('go').textContent = 'Pause'; };\n"
      "$('reset').onclick = () => { stop(); left = Math.min(180, Math.max(1, +$('min').value || "
      "5)) * 60000; $('said').textContent = ''; draw(); };\n"
      "$('min').onchange = () => $('reset').click();\n"
      "draw();\n</script>\n" },
    { { "dice", "die roller" },
      "Dice",
      "two dice, fair ones",
      "<div class=\"big\" id=\"dice\" role=\"status\">\xe2\x9a\x80 \xe2\x9a\x80</div>\n<p "
      "class=\"row\"><button id=\"roll\" autofocus>Roll</button><span id=\"sum\"></span></p>\n"
      "<script>\n"
      "const faces = '\xe2\x9a\x80\xe2\x9a\x81\xe2\x9a\x82\xe2\x9a\x83\xe2\x9a\x84\xe2\x9a\x85', "
      "one = () => Math.floor(Math.random() * 6);\n"
      "let rolls = 0;\n"
      "document.getElementById('roll').onclick = () => { const a = one(), b = one(); rolls++;\n"
      "  document.getElementById('dice').textContent = faces[a] + ' ' + faces[b];\n"
      "  document.getElementById('sum').textContent = 'Sum ' + (a + b + 2) + ', roll ' + rolls; "
      "};\n"
      "</script>\n" },
    { { "note", "diary", "journal", "editor" },
      "Notes",
      "a notepad that counts words",
      "<textarea id=\"text\" rows=\"10\" style=\"width:100%;font:inherit\" aria-label=\"Note\" "
      "placeholder=\"Write here\" autofocus></textarea>\n"
      "<p id=\"count\" role=\"status\">0 words</p>\n"
      "<script>\n"
      "const text = document.getElementById('text');\n"
      "text.oninput = () => { const n = text.value.trim() ? text.value.trim().split(/\\s+/).length "
      ": 0;\n"
      "  document.getElementById('count').textContent = n === 1 ? '1 word' : n + ' words'; };\n"
      "</script>\n" },
    { { 0 },
      "Page",
      "a simple page to start from",
      "<p>You asked for: <strong>{prompt}</strong>.</p>\n"
      "<p>The demo can build a todo list, a calculator, a timer, dice and notes. For everything "
      "else it makes this page; "
      "a real model would write the real thing here.</p>\n"
      "<p class=\"row\"><button id=\"b\">Press me</button><span id=\"n\" role=\"status\">Not "
      "pressed yet</span></p>\n"
      "<script>\nlet n = 0;\n"
      "document.getElementById('b').onclick = () => { document.getElementById('n').textContent = "
      "++n === 1 ? 'Pressed once' : 'Pressed ' + n + ' times'; };\n"
      "</script>\n" },
};
