import { Problem, buildProblemBody, PROBLEMS, type ProblemCode } from './problems.js';

const where = { docsUrl: 'https://docs.example', path: '/v1/messages', requestId: 'r-1' };

test.each(Object.keys(PROBLEMS) as ProblemCode[])(
  '%s has the shape of RFC 9457 and an error status',
  (code) => {
    const body = buildProblemBody(new Problem(code), where);
    expect(body).toEqual({
      type: `https://docs.example/problems/${code}`,
      title: PROBLEMS[code].title,
      status: PROBLEMS[code].status,
      detail: PROBLEMS[code].detail,
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
    detail: 'não',
  });
  const body = buildProblemBody(problem, where);
  expect(body).toMatchObject({ required_scope: 'messages:send', detail: 'não' });
  expect(JSON.stringify(body)).not.toContain('etry');
});
