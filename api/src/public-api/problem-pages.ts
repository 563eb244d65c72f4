import { PROBLEMS, readDetail, type ProblemCode } from '@gwk/core/problems/problems';
import { listProblems } from '../openapi/describe.js';
import type { Operation } from '../http/operation.js';

/** Statuses after which clients may retry the same request. */
const RETRIABLE: ReadonlySet<number> = new Set([429, 500, 502, 503]);

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/**
 * Renders the HTML page of a problem. It loads no scripts or styles.
 * @param operations of the interfaces that the API serves
 */
export function renderProblemHtml(code: ProblemCode, operations: readonly Operation[]): string {
  const { status, title, when, then } = PROBLEMS[code];
  const { pt, en } = readDetail(code);
  const body = [
    `<h1><code>${code}</code></h1>`,
    `<p>${status} ${escape(title)}</p>`,
    `<h2>When</h2><p>${inline(when)}</p>`,
    `<h2>What to do</h2><p>${inline(then)}</p>`,
    `<h2>Retry?</h2><p>${RETRIABLE.has(status) ? 'Yes, with the same <code>Idempotency-Key</code>.' : 'Only after a change.'}</p>`,
    `<h2>Operations</h2>${renderOperations(code, operations)}`,
    `<h2>Default detail</h2><p lang="pt-BR">${inline(pt)}</p><p>${inline(en)}</p>`,
    '<p><a href="../problems">All problems</a></p>',
  ];
  return html(`${code}: ${title}`, body.join('\n'));
}

/** Lists the operations that answer with the problem. */
function renderOperations(code: ProblemCode, operations: readonly Operation[]): string {
  const answering = operations.filter((operation) =>
    listProblems(operation).get(PROBLEMS[code].status)?.includes(code),
  );
  if (answering.length === 0) return '<p>None: it answers requests that match no operation.</p>';
  if (answering.length === operations.length) return '<p>Every operation.</p>';
  const rows = answering.map(
    ({ method, path, summary }) => `<li><code>${method} ${path}</code>: ${inline(summary)}</li>`,
  );
  return `<ul>\n${rows.join('\n')}\n</ul>`;
}

export function renderProblemListHtml(): string {
  const rows = CODES.map(
    (code) =>
      `<tr><td><a href="problems/${code}"><code>${code}</code></a></td><td>${PROBLEMS[code].status}</td><td>${escape(PROBLEMS[code].title)}</td></tr>`,
  );
  return html('Problems', `<h1>Problems</h1>\n<table>\n${rows.join('\n')}\n</table>`);
}

function html(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(title)}</title></head>
<body>
${body}
</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escape = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!);
const inline = (text: string): string => escape(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
