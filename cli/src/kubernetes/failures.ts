import { KubeError } from '@gwk/core/kubernetes/client';
import { CliError as CoreError } from '@gwk/core/process/cli-error';
import { CliError, findKind } from '../errors.js';

/** Gives errors of the cluster, and of code that is shared with the server, the kind of their exit code. */
export function translateFailure(error: unknown): unknown {
  if (error instanceof CoreError)
    return new CliError(error.kind ?? 'refused', error.message, { cause: error });
  if (!(error instanceof KubeError)) return error;
  const { code, message } = error;
  if (code === 0) return new CliError('network', `The cluster does not answer: ${message}`, { cause: error });
  return new CliError(findKind(code), message, { cause: error });
}
