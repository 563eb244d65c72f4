import { buildProblemBody, Problem } from '@gwk/core/problems/problems';
import { ClientGone } from '../http/body.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { chooseLanguage, languageHeaders } from '../http/language.js';
import { PROBLEM_TYPE, respond, stripQuery, type Observer } from '../http/respond.js';
import type { Services } from '../http/services.js';
import { selectSubject } from './rate-limit.js';

/**
 * Turns every refusal and error into an answer. Unexpected errors are logged without any content of the request and
 * answered with `internal-error`.
 */
export class ProblemHandler {
  constructor(
    readonly services: Services,
    readonly observer: Observer,
  ) {}

  handle(error: unknown, req: Exchange, res: Reply): void {
    if (error instanceof ClientGone) res.destroy();
    else this.answer(this.#problemOf(error, req), req, res);
  }

  answer(problem: Problem, req: Exchange, res: Reply): void {
    if (res.headersSent) return;
    const { config, limiter } = this.services;
    // A request that failed before the rate limiter counted it has the headers too.
    req.rate ??= limiter.peek(...selectSubject(req, config));
    req.refusal = problem.code;
    const path = stripQuery(req.originalUrl ?? req.url);
    const { docsUrl = config.baseUrl } = config;
    const language = chooseLanguage(req);
    const body = buildProblemBody(problem, { docsUrl, path, requestId: req.requestId, language });
    const headers = languageHeaders(language);
    const { allow, retryAfter, setCookie } = problem.extras;
    if (allow !== undefined) headers.push('Allow', allow);
    if (retryAfter !== undefined) headers.push('Retry-After', String(Math.max(1, Math.ceil(retryAfter))));
    if (setCookie !== undefined) headers.push('Set-Cookie', setCookie);
    if (problem.status === 401) headers.push('WWW-Authenticate', 'Bearer');
    respond(req, res, { status: problem.status, body, headers, type: PROBLEM_TYPE }, this.observer);
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
    this.services.log.error(
      { err: error, request_id: requestId, operation: operation?.name, problem },
      'a request failed',
    );
  }
}
