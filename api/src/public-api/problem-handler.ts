import type { Logger } from '@gwk/core/log';
import { Problem } from '@gwk/core/problems';
import { ClientGone } from '../http/body.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { respondProblem, type Observer } from '../http/respond.js';

/**
 * Turns every refusal and error into an answer. Unexpected errors are logged without any content of the request and
 * answered with `internal-error`.
 */
interface ProblemHandlerOptions {
  docsUrl: string;
  log: Logger;
  observer: Observer;
  /** Headers of requests that failed before the rate limiter counted them. */
  countLate: (req: Exchange) => void;
}

export class ProblemHandler {
  constructor(readonly options: ProblemHandlerOptions) {}

  handle(error: unknown, req: Exchange, res: Reply): void {
    if (error instanceof ClientGone) {
      res.destroy();
      return;
    }
    this.answer(this.#problemOf(error, req), req, res);
  }

  answer(problem: Problem, req: Exchange, res: Reply): void {
    if (res.headersSent) return;
    const { docsUrl, observer, countLate } = this.options;
    if (!req.rate) countLate(req);
    respondProblem(req, res, problem, { docsUrl, observer, headers: allowOf(problem) });
  }

  #problemOf(error: unknown, req: Exchange): Problem {
    if (error instanceof Problem) {
      // The access log records an unresponsive engine; here only causes of other 5xx answers are logged.
      const fault = error.cause ?? (error.code === 'internal-error' ? error : undefined);
      if (error.status >= 500 && fault !== undefined) this.#log(fault, req, error.code);
      return error;
    }
    // The router could not decode the path, so no resource matches.
    if (error instanceof URIError || (error as { status?: number } | null)?.status === 400) {
      return new Problem('not-found');
    }
    this.#log(error, req, 'internal-error');
    return new Problem('internal-error', { retryAfter: 1 });
  }

  #log(error: unknown, req: Exchange, problem: string): void {
    const { requestId, operation } = req;
    this.options.log.error(
      { err: error, request_id: requestId, operation: operation?.name, problem },
      'a request failed',
    );
  }
}

export class MethodNotAllowed extends Problem {
  constructor(readonly allow: string) {
    super('method-not-allowed');
  }
}

function allowOf(problem: Problem): string[] {
  return problem instanceof MethodNotAllowed ? ['Allow', problem.allow] : [];
}
