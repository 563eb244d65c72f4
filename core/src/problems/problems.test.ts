import { PROBLEM_DETAILS } from './problem-details.js';
import { Problem, buildProblemBody, PROBLEMS, readDetail, type ProblemCode } from './problems.js';

const where = {
  docsUrl: 'https://docs.example',
  path: '/v1/messages',
  requestId: 'r-1',
  language: 'pt',
} as const;

test.each(Object.keys(PROBLEMS) as ProblemCode[])(
  '%s has the shape of RFC 9457 and an error status',
  (code) => {
    const body = buildProblemBody(new Problem(code), where);
    expect(body).toEqual({
      type: `https://docs.example/problems/${code}`,
      title: PROBLEMS[code].title,
      status: PROBLEMS[code].status,
      detail: readDetail(code).pt,
      instance: '/v1/messages',
      request_id: 'r-1',
    });
    expect(body.status).toBeGreaterThanOrEqual(400);
  },
);

test('puts documented extras into the body, but not Retry-After', () => {
  const problem = new Problem('insufficient-scope', {
    required_scope: 'messages:send',
    retryAfter: 3,
    detail: { pt: 'não', en: 'no' },
  });
  const body = buildProblemBody(problem, where);
  expect(body).toMatchObject({ required_scope: 'messages:send', detail: 'não' });
  expect(JSON.stringify(body)).not.toContain('etry');
});

test('writes the detail in the language asked for', () => {
  const detail = { pt: 'não', en: 'no' };
  const read = (problem: Problem, language: 'pt' | 'en') =>
    buildProblemBody(problem, { ...where, language }).detail;
  expect(read(new Problem('forbidden', { detail }), 'en')).toBe('no');
  expect(read(new Problem('forbidden'), 'en')).toBe('This action is not allowed.');
  expect(read(new Problem('forbidden'), 'pt')).toBe('Esta ação não é permitida.');
});

test('has a detail of its own in each language for each problem', () => {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  expect(Object.keys(PROBLEM_DETAILS).sort()).toEqual([...codes].sort());
  for (const code of codes) {
    const { pt, en } = readDetail(code);
    expect([code, pt, en]).toEqual([
      code,
      expect.stringMatching(/^\S.+\.$/),
      expect.stringMatching(/^\S.+\.$/),
    ]);
    // English sentences have no accents, and no sentence is in both languages.
    expect([code, en]).toEqual([code, expect.not.stringMatching(/[ãõçáéíóúâêôà]/)]);
    expect(pt).not.toBe(en);
  }
});
