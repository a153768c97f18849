"use strict";

// Elements. Nothing else of this page makes any, and text is always set as text: names of kernels are anybody's.

function make(tag, { className, text, title, on, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (title) element.title = title;
  for (const [event, handler] of Object.entries(on ?? {})) element.addEventListener(event, handler);
  Object.assign(element, properties);
  if (text !== undefined) element.textContent = text;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function button(text, title, action) {
  return make("button", { type: "button", text, title, on: { click: action } });
}

// A number with groups of three digits.
const number = new Intl.NumberFormat("en").format;

function counted(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// A change as a share of what was there: `−9.4 %`.
function share(before, after) {
  if (!before || before === after) return "";
  const percent = ((after - before) / before) * 100;
  const digits = Math.abs(percent) < 10 ? 1 : 0;
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(digits)} %`;
}

// The colour of a count among those up to `most`, as a number of the scale from 0 to 8. Counts differ by orders of
// magnitude, so the scale is one of logarithms.
function heat(count, most) {
  if (!count || !most) return 0;
  return Math.max(1, Math.round((Math.log(count + 1) / Math.log(most + 1)) * 8));
}

function heatOf(level) {
  return level ? `color-mix(in oklab, var(--heat) ${level * 11}%, transparent)` : "transparent";
}

// Colour by verdict.
function verdict(name, wrong) {
  const right = ["equal", "refined", "ok", "proved", "exhaustive", "tested"];
  const kind = wrong ? "wrong" : right.includes(name) ? "right" : "open";
  return make("span", { className: `verdict ${kind}`, text: name });
}
