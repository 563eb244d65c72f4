import { PROBLEMS, type ProblemCode } from '@gwk/core/problems/problems';
import { renderProblemHtml, renderProblemListHtml } from './problem-pages.js';

test.each(Object.keys(PROBLEMS) as ProblemCode[])(
  'the page of %s contains code, status and title',
  (code) => {
    const page = renderProblemHtml(code);
    expect(page).toContain(`<h1><code>${code}</code></h1>`);
    expect(page).toContain(`${PROBLEMS[code].status} `);
    expect(page).toContain(PROBLEMS[code].title);
    expect(page).not.toMatch(/undefined|`/);
    expect(renderProblemListHtml()).toContain(`href="problems/${code}"`);
  },
);
