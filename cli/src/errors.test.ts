import { readFileSync } from 'node:fs';
import { ApiError, ConnectionError, StreamEndedError } from '@gwk/client';
import { CliError, describeFailure, describeProblem, EXIT_CODES } from './errors.js';

describe('failures', () => {
  const refuse = (status: number, body: object) => new ApiError(body, new Response(null, { status }));
  test.each([
    [401, 3],
    [403, 3],
    [404, 4],
    [422, 5],
    [429, 5],
    [503, 6],
  ])('a problem with status %d exits with %d', (status, code) => {
    expect(describeFailure(refuse(status, {})).code).toBe(code);
  });

  test('a problem shows title, detail, fields, request and page', () => {
    const problem = {
      type: 'https://gwk.example.org/problems/validation-error',
      title: 'Invalid request',
      detail: 'See errors',
      request_id: 'req_1',
      errors: [{ path: 'to', code: 'too_small', message: 'too short' }],
    };
    expect(describeProblem(refuse(422, problem))).toBe(
      'Invalid request (422)\nSee errors\n  to: too short\nRequest: req_1\nMore: https://gwk.example.org/problems/validation-error',
    );
  });

  test.each([
    [new TypeError('x'), 1, 'x'],
    [new StreamEndedError('access_ended'), 3, 'The key was revoked, or may no longer read these events'],
    [new StreamEndedError('too_many_streams'), 5, 'Too many streams are open for this key'],
    [new ConnectionError('No answer', { cause: new TypeError('terminated') }), 6, 'No answer: terminated'],
    [new ConnectionError('No answer', { cause: new CliError('refused', 'no gateway') }), 5, 'no gateway'],
  ])('%p exits with %d', (error, code, text) => {
    expect(describeFailure(error)).toEqual({ code, text });
  });
});

test('a problem cannot change the terminal or pretend further lines', () => {
  const problem = new ApiError({ title: 'a\u001bb', detail: 'c\nd' }, new Response(null, { status: 422 }));
  expect(describeProblem(problem)).toBe('a b (422)\nc d');
});

test('docs/cli.md shows the exit codes', () => {
  const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (\d) +\| (.+?) +\|$/gm)].map(([, code, text]) => [Number(code), text]);
  expect(rows).toEqual(Object.values(EXIT_CODES));
});
