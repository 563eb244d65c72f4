import { PROBLEMS, type ProblemCode } from '@gwk/core/problems/problems';
import { renderTable } from './table.ts';

/** Renders the table of docs/errors.md. */
export function renderProblems(): string {
  const rows = (Object.keys(PROBLEMS) as ProblemCode[]).map((code) => {
    const { status, when, then } = PROBLEMS[code];
    return [`\`${code}\``, status, when, then];
  });
  return renderTable(['Code', 'Status', 'When', 'Action'], rows);
}
