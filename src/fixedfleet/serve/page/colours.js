// The colours of tours and maps, as [light scheme, dark scheme]. The first seven are Okabe
// and Ito's, which people with colour blindness can distinguish. The others are as far from
// them and from each other as possible.

const HUES = [
  ["#0072b2", "#4aa8e0"], ["#d55e00", "#ee7d2b"], ["#009e73", "#1fbf92"],
  ["#cc79a7", "#dd93bd"], ["#e69f00", "#f0b429"], ["#56b4e9", "#8fd0f5"],
  ["#6b6b6b", "#a9b2ba"], ["#5fcf28", "#87f85a"], ["#4800ad", "#8769fd"],
  ["#49431a", "#8f8a5f"], ["#e850f7", "#f9c1fd"], ["#7a0f37", "#cc607b"],
  ["#1ecdaa", "#5cf5d0"], ["#8705a4", "#d366f3"], ["#a2a276", "#dbdbae"],
  ["#50326c", "#9778b8"], ["#6e55cf", "#aea5fa"], ["#607934", "#a2bd76"],
  ["#114a57", "#5d92a0"], ["#ed3151", "#fcb0b1"], ["#b51f9e", "#fd79e1"],
  ["#1a3b8b", "#5c85dc"], ["#764b44", "#bf8f87"], ["#b24745", "#fe8b85"],
];

export const LIGHT = {
  name: "light",
  paper: "#ffffff",
  ink: "#17212b",
  muted: "#5b6875",
  customer: "#8594a3",
  missing: "#b3261e",
};

export const DARK = {
  name: "dark",
  paper: "#12181d",
  ink: "#e8edf2",
  muted: "#9aa7b4",
  customer: "#7f8d9b",
  missing: "#ff8a80",
};

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

export const currentTheme = () => (prefersDark.matches ? DARK : LIGHT);

export const onThemeChange = (callback) =>
  prefersDark.addEventListener("change", callback);

export function hue(slot, theme) {
  return HUES[slot % HUES.length][theme === DARK ? 1 : 0];
}

// Return black or white, whichever is easier to read on a colour.
export function textOn(colour) {
  const channels = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const [r, g, b] = channels.map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4,
  );
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return luminance > 0.18 ? "#10171d" : "#ffffff";
}

// Set the colour of a tour as variables in the style of an element.
export function paint(element, slot) {
  const [light, dark] = HUES[slot % HUES.length];
  element.style.setProperty("--hue", `light-dark(${light}, ${dark})`);
  element.style.setProperty(
    "--on-hue",
    `light-dark(${textOn(light)}, ${textOn(dark)})`,
  );
}
