const MAX_LENGTH = 255;
/** Longer ones are part of the name. */
const EXTENSION = /\.[\p{L}\p{N}]{1,12}$/u;
/** Line breaks and marks of writing direction disguise an extension. The joiners of emoji and of Persian stay. */
const DECEPTIVE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u{feff}]/gu;
const SEPARATORS = /[/\\]/g;

/**
 * Cleans a file name from a stranger: consumers may use it on a disk or show it to people. It has at most 255 UTF-16 units,
 * and keeps its extension.
 * @param separator in place of `/` and `\`
 * @returns null if nothing is left
 */
export function cleanFilename(given: string, separator = ''): string | null {
  const name = given
    .toWellFormed()
    .replaceAll(DECEPTIVE, '')
    .replaceAll(SEPARATORS, separator)
    .replace(/^[\s.]+/, '')
    .trimEnd();
  return name === '' ? null : shortenFilename(name);
}

/** Shortens a name before its extension. */
export function shortenFilename(name: string, max = MAX_LENGTH): string {
  if (name.length <= max) return name;
  const extension = EXTENSION.exec(name)?.[0] ?? '';
  const stem = name.slice(0, max - extension.length);
  // The cut may have halved a character.
  return (/[\ud800-\udbff]$/.test(stem) ? stem.slice(0, -1) : stem) + extension;
}

/** Example: `pdf` for `a.PDF`. Empty: it has none. */
export function extensionOf(name: string | null): string {
  return (
    EXTENSION.exec(name ?? '')?.[0]
      .slice(1)
      .toLowerCase() ?? ''
  );
}
