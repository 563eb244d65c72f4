import { KubeError } from '@gwk/core/kubernetes/client';
import { CliError } from '@gwk/core/process/cli-error';
import { describeFailure } from '../errors.js';
import { translateFailure } from './failures.js';

test.each([
  [new KubeError(0, 'NoAnswer', 'TimeoutError'), 6],
  [new KubeError(401, 'Unauthorized', 'x'), 3],
  [new KubeError(403, 'Forbidden', 'x'), 3],
  [new KubeError(404, 'NotFound', 'x'), 4],
  [new KubeError(409, 'Conflict', 'x'), 5],
  [new KubeError(503, 'Unknown', 'x'), 6],
  [new CliError('No phone was paired', { kind: 'timeout' }), 7],
  [new CliError('no cluster found', { kind: 'usage' }), 2],
  [new CliError('no right to get it', { kind: 'auth' }), 3],
  [new CliError('AccountNotAllowed: not from here'), 5],
  [new TypeError('x'), 1],
])('%p exits with %d', (error, code) => {
  expect(describeFailure(translateFailure(error)).code).toBe(code);
});
