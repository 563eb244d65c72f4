import ts from 'typescript';

/**
 * Reads the prose of a file: `texts` (comments, paragraphs, messages) and `names` (identifiers), each with its line.
 *
 * @typedef {{ line: number, text: string, kind: 'comment' | 'heading' | 'cell' | 'paragraph' | 'message' }} Text
 * @typedef {{ line: number, text: string }} Name
 * @param {string} path
 * @param {string} source
 * @returns {{ texts: Text[], names: Name[] }}
 */
export function readProse(path, source) {
  if (/\.[jt]s$/.test(path)) return readScript(path, source);
  if (path.endsWith('.md')) return { texts: readPage(source), names: [] };
  if (path.endsWith('.sql')) return readLines(source, /^\s*--\s?(.*)$/, /\b[a-z]+(?:_[a-z0-9]+)+\b/g);
  if (path.endsWith('.prisma')) return readLines(source, /^\s*\/\/\/?\s?(.*)$/, /\b[A-Za-z][A-Za-z0-9_]+\b/g);
  if (path.endsWith('NOTES.txt')) return { texts: readPage(source), names: [] };
  return readLines(
    source,
    /^\s*(?:#|\{\{-?\s*\/\*)\s?(.*?)(?:\*\/\s*-?\}\})?$/,
    /(?<=^\s*(?:- )?)[A-Za-z][A-Za-z0-9]+(?=:)/gm,
  );
}

function readScript(path, source) {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const lineOf = (position) => file.getLineAndCharacterOfPosition(position).line + 1;
  const names = [];
  const messages = [];
  const comments = new Map();
  const visit = (node) => {
    for (const range of ts.getLeadingCommentRanges(source, node.getFullStart()) ?? [])
      comments.set(range.pos, range);
    for (const range of ts.getTrailingCommentRanges(source, node.getEnd()) ?? [])
      comments.set(range.pos, range);
    if (ts.isIdentifier(node)) names.push({ line: lineOf(node.getStart()), text: node.text });
    const text = messageOf(node);
    if (text) messages.push({ line: lineOf(node.getStart()), text, kind: 'message' });
    node.getChildren(file).forEach(visit);
  };
  visit(file);
  const ranges = [...comments.values()].sort((a, b) => a.pos - b.pos);
  return { texts: [...joinComments(ranges, source, lineOf), ...messages], names };
}

/** Text of a string of three words or more. */
function messageOf(node) {
  const isText = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node);
  const isPart = ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
  if (!isText && !isPart) return null;
  return /\p{L}+ \p{L}+ \p{L}+/u.test(node.text) ? node.text.replaceAll(/\s+/g, ' ') : null;
}

/** Comments on lines that follow each other are one text. */
function joinComments(ranges, source, lineOf) {
  const texts = [];
  let end = -2;
  for (const { pos, end: after } of ranges) {
    const line = lineOf(pos);
    const text = source
      .slice(pos, after)
      .replaceAll(/^\/\*+|\*+\/$|^\s*\*(?!\*)|^\/\/+/gm, ' ')
      .replaceAll(/@\w+ (\{[^}]*\} ?)?/g, '\n');
    if (source.startsWith('//', pos) && line === end + 1) texts.at(-1).text += `\n${text}`;
    else texts.push({ line, text, kind: 'comment' });
    end = source.startsWith('//', pos) ? line : -2;
  }
  return texts;
}

/** Paragraphs, headings, list items and table cells of a Markdown page, without its code. */
function readPage(source) {
  const texts = [];
  let open = null;
  const withoutCode = source.replaceAll(/^\s*(```|~~~)[\s\S]*?^\s*\1.*$|<!--[\s\S]*?-->/gm, (block) =>
    block.replaceAll(/.+/g, ''),
  );
  for (const [index, raw] of withoutCode.split('\n').entries()) {
    const block = readBlock(raw);
    if (block?.kind === 'paragraph' && open && !block.starts) open.text += `\n${block.text}`;
    else {
      open = block && { line: index + 1, ...block };
      if (open) texts.push(open);
      if (open?.kind !== 'paragraph') open = null;
    }
  }
  return texts.flatMap((text) => (text.kind === 'cell' ? splitRow(text) : [text]));
}

/** Kind and text of a line; `starts`: it begins a list item. Null: empty. */
function readBlock(raw) {
  const [, item, text] = /^[\s>]*([-*+]\s+|\d+\.\s+)?(.*)$/.exec(raw);
  if (text.trim() === '') return null;
  if (raw.startsWith('#')) return { kind: 'heading', text: raw.replace(/^#+ /, '') };
  if (text.startsWith('|')) return { kind: 'cell', text };
  return { kind: 'paragraph', text, starts: item !== undefined };
}

function splitRow({ line, text }) {
  const cells = text.split(/(?<!\\)\|/).filter((cell) => /\p{L}/u.test(cell));
  return cells.map((cell) => ({ line, text: cell.trim(), kind: 'cell' }));
}

/** Comments by line, and names, of a language that is not parsed here. */
function readLines(source, comment, name) {
  const texts = [];
  const names = [];
  let open = null;
  for (const [index, raw] of source.split('\n').entries()) {
    const found = comment.exec(raw);
    if (found && open) open.text += `\n${found[1]}`;
    else if (found) texts.push((open = { line: index + 1, text: found[1], kind: 'comment' }));
    else {
      open = null;
      for (const [text] of raw.replace(/'[^']*'/g, ' ').matchAll(name)) names.push({ line: index + 1, text });
    }
  }
  return { texts, names };
}

/**
 * Sentences of a text: code in backticks is one word, links are their label.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function splitSentences(text) {
  return text
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, '')
    .split(/\n\s*\n|(?<=[.!?:;]["')]?)\s+(?=["'(]?[\p{Lu}\d])|(?<=[.!?]["')]?)\s+(?=code)/u)
    .map((sentence) => sentence.replaceAll(/\s+/g, ' ').trim())
    .filter((sentence) => /\p{L}/u.test(sentence));
}

/** @param {string} sentence */
export const countWords = (sentence) =>
  sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;
