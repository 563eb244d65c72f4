import { lowestUuidAt } from '@gwk/core/ids/ids';
import {
  ConsoleEndpointList,
  RATED_DELIVERIES,
  type ConsoleEndpointOut,
} from '../resources/console/endpoint.js';
import type { Database } from '../database/database.js';
import { operation } from '../http/operation.js';
import { listEndpoints } from '../webhooks/endpoints.js';
import { endpointOut, type EndpointRow } from '../webhooks/view.js';

const DAY_MS = 86_400_000;

interface Results {
  id: string;
  tried: number;
  succeeded: number;
}

const listConsoleEndpoints = operation({
  name: 'listConsoleEndpoints',
  method: 'GET',
  path: '/console/api/webhook-endpoints',
  summary: 'List webhook endpoints with their success rate and last error',
  scope: null,
  person: 'webhooks:read',
  status: 200,
  result: ConsoleEndpointList,
  async handle({ caller, services: { db } }) {
    const endpoints = await listEndpoints(db, caller);
    const rates = await readSuccessRates(db, endpoints);
    const data = endpoints.map((row): ConsoleEndpointOut => {
      const { id, lastError, lastErrorAt } = row;
      return {
        ...endpointOut(row),
        success_rate: rates.get(id) ?? null,
        last_error: lastError,
        last_error_at: lastErrorAt?.toISOString() ?? null,
      };
    });
    return { status: 200, body: { data }, headers: ['Cache-Control', 'no-store'] };
  },
});

/** The rates of endpoints that had a try in the last 24 hours. */
async function readSuccessRates(
  db: Database,
  endpoints: readonly EndpointRow[],
): Promise<Map<string, number>> {
  const ids = endpoints.map(({ id }) => id);
  const low = lowestUuidAt(Date.now() - DAY_MS);
  const rows = await db.$queryRaw<Results[]>`
    SELECT * FROM gwk_results_of_endpoints(${ids}::uuid[], ${low}::uuid, ${RATED_DELIVERIES}::integer)`;
  const tried = rows.filter((row) => row.tried > 0);
  return new Map(tried.map((row) => [row.id, row.succeeded / row.tried]));
}

export const consoleEndpointOperations = [listConsoleEndpoints];
