import { PROBLEMS, type ProblemCode } from '@gwk/core/problems/problems';
import { CONSOLE_OPERATIONS, OPERATIONS } from './operations.js';
import { renderProblemHtml, renderProblemListHtml } from './problem-pages.js';

const EVERY = [...OPERATIONS, ...CONSOLE_OPERATIONS];

test.each(Object.keys(PROBLEMS) as ProblemCode[])(
  'the page of %s contains code, status and title',
  (code) => {
    const page = renderProblemHtml(code, EVERY);
    expect(page).toContain(`<h1><code>${code}</code></h1>`);
    expect(page).toContain(`${PROBLEMS[code].status} `);
    expect(page).toContain(PROBLEMS[code].title);
    expect(page).not.toMatch(/undefined|`/);
    expect(renderProblemListHtml()).toContain(`href="problems/${code}"`);
  },
);

test('the page of a problem lists the operations that answer it', () => {
  const lines = renderProblemHtml('edit-window-closed', EVERY).split('\n');
  expect(lines.filter((line) => line.startsWith('<li>'))).toEqual([
    '<li><code>PATCH /v1/messages/{message_id}</code>: Edit a text message, up to 15 minutes after it was sent</li>',
  ]);
  expect(renderProblemHtml('internal-error', EVERY)).toContain('<p>Every operation.</p>');
  expect(renderProblemHtml('method-not-allowed', EVERY)).toContain('<p>None: ');
});
