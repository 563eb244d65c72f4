import type { RequestHandler } from 'express';
import type { Exchange, Reply } from '../http/exchange.js';

interface Direct {
  method: string;
  url: string;
  steps: readonly RequestHandler[];
  failed: (error: unknown, req: Exchange, res: Reply) => void;
}

export type Listener = (req: Exchange, res: Reply, lastResort: (error: unknown) => void) => void;

/**
 * Serves the busiest operation without the router: the same steps in the same order, without matching the other routes.
 * Requests with any other spelling of the path (a query, a slash at the end) go through the router.
 */
export function directly({ method, url, steps, failed }: Direct, others: Listener): Listener {
  return (req, res, lastResort) => {
    if (req.url !== url || req.method !== method) return others(req, res, lastResort);
    req.params = NO_PARAMS;
    walk(steps, req, res, failed);
  };
}

const NO_PARAMS = Object.freeze({});

function walk(steps: readonly RequestHandler[], req: Exchange, res: Reply, failed: Direct['failed']): void {
  let at = 0;
  const fail = (error: unknown): void => failed(error, req, res);
  const next = (error?: unknown): void => {
    if (error !== undefined) return fail(error);
    try {
      const done: unknown = steps[at++]!(req, res, next);
      if (done instanceof Promise) done.catch(fail);
    } catch (fault) {
      fail(fault);
    }
  };
  next();
}
