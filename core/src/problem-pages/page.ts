import { PROBLEMS, type ProblemCode } from '../problems.js';

/** Statuses after which clients may retry the same request. */
const RETRIABLE: ReadonlySet<number> = new Set([429, 500, 502, 503]);

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** Renders docs/errors.md from the table of problems. */
export function renderErrorsPage(): string {
  const rows = CODES.map((code) => {
    const { status, when, then } = PROBLEMS[code];
    return `| \`${code}\` | ${status} | ${when} | ${then} |`;
  });
  return `${INTRODUCTION}\n| Code | Status | When | Action |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

const INTRODUCTION = `# Errors

Generated from the table of problems by \`make docs\`; do not edit.

Error responses are \`application/problem+json\` (RFC 9457). Branch on \`type\`: it ends with one of the codes below, and is stable. \`detail\` is a text for people, in Portuguese, and may change. \`request_id\` equals the header \`X-Request-ID\`; quote it when you contact support.

\`\`\`json
{
  "type": "{docs_url}/problems/validation-error",
  "title": "Invalid request",
  "status": 422,
  "detail": "Há campos inválidos na requisição; veja \`errors\`.",
  "instance": "/v1/messages",
  "request_id": "5f0c9f5e-7d1c-4b7a-9a43-0f6a3f1f7c10",
  "errors": [{ "path": "text.body", "code": "custom", "message": "at least 1 characters" }]
}
\`\`\`

Retry after 429 (wait \`Retry-After\` seconds), 500, 502 and 503, always with the same \`Idempotency-Key\`. After any other status, correct the request first. The API serves a page for each code at \`/problems/<code>\`.

An accepted message is not sent yet. If it fails later, its \`status\` and \`error.code\` say so, and the event \`message.failed\` reports it.
`;

/** Renders the HTML page of a problem. It loads no scripts or styles. */
export function renderProblemHtml(code: ProblemCode): string {
  const { status, title, detail, when, then } = PROBLEMS[code];
  const body = [
    `<h1><code>${code}</code></h1>`,
    `<p>${status} ${escape(title)}</p>`,
    `<h2>When</h2><p>${inline(when)}</p>`,
    `<h2>What to do</h2><p>${inline(then)}</p>`,
    `<h2>Retry?</h2><p>${RETRIABLE.has(status) ? 'Yes, with the same <code>Idempotency-Key</code>.' : 'Only after a change.'}</p>`,
    `<h2>Default detail</h2><p lang="pt-BR">${inline(detail)}</p>`,
    '<p><a href="../problems">All problems</a></p>',
  ];
  return html(`${code}: ${title}`, body.join('\n'));
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
