import { ENGINE_METRICS } from '@gwk/core/metrics/engine';
import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import { z } from 'zod';
import type { Liveness, LivenessSource, Suspect } from './liveness-source.js';

/**
 * Liveness from Prometheus, for all suspects in one query. It reads the times of samples, so a stale series counts up to its
 * last sample. Series without an instance label (GWK_ENGINE_METRICS_INSTANCE=off) are ignored.
 */
/** Far below the gap that the observer tolerates (jobs/unresponsive-engines.ts), so an unresponsive Prometheus delays no decision. */
const TIMEOUT_MS = 2_000;
/** Above this number the query selects all instances, because listing them would cost more. */
const MOST_NAMED = 200;
const MARGIN_S = 60;
const MOST_S = 3_600;
const LOOKS = 100;

const Answer = z.object({
  status: z.literal('success'),
  data: z.object({
    resultType: z.literal('vector'),
    result: z.array(
      z.object({
        metric: z.object({ instance_id: z.string().optional(), sign: z.enum(['alive', 'connected']) }),
        value: z.tuple([z.number(), z.string()]),
      }),
    ),
  }),
});

/** @param address base URL of the server, optionally with user and password */
export function prometheusLiveness(address: string): LivenessSource {
  const { url, authorization } = apart(address);
  const query = new URL('api/v1/query', url);
  return {
    name: 'prometheus',
    async read(suspects) {
      if (suspects.length === 0) return new Map();
      const response = await fetch(query, {
        method: 'POST',
        headers: { ...(authorization !== undefined && { authorization }) },
        body: new URLSearchParams({
          query: livenessQuery(suspects, Date.now()),
          timeout: `${TIMEOUT_MS}ms`,
        }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'error',
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`Prometheus answered ${response.status}`);
      }
      return toLiveness(Answer.parse(await response.json()));
    },
  };
}

/** Range from the oldest last renewal on. Each evaluation reads the newest sample before it. */
export function livenessQuery(suspects: readonly Suspect[], now: number): string {
  const oldest = Math.min(...suspects.map(({ renewedAt }) => renewedAt.getTime()));
  const seconds = Math.min(MOST_S, Math.max(0, Math.ceil((now - oldest) / 1000)) + MARGIN_S);
  const window = `[${seconds}s:${Math.max(1, Math.ceil(seconds / LOOKS))}s]`;
  const names = suspects.map(({ instanceId }) => toPublicId('instance', instanceId));
  const matcher = names.length > MOST_NAMED ? 'instance_id!=""' : `instance_id=~"${names.join('|')}"`;
  const series = `${ENGINE_METRICS.connected.name}{${matcher}}`;
  const last = (samples: string, sign: string): string =>
    `label_replace(max by (instance_id) (max_over_time(${samples}${window})), "sign", "${sign}", "", "")`;
  const connected = last(`(timestamp(${series}) and ${series} == 1)`, 'connected');
  return `${last(`timestamp(${series})`, 'alive')} or ${connected}`;
}

function toLiveness({ data }: z.infer<typeof Answer>): ReadonlyMap<string, Liveness> {
  const liveness = new Map<string, Liveness>();
  for (const { metric, value } of data.result) {
    const id = fromPublicId('instance', metric.instance_id ?? '');
    const seen = new Date(Number(value[1]) * 1000);
    if (id === null || Number.isNaN(seen.getTime())) continue;
    // A connected engine is alive.
    const known = liveness.get(id) ?? { alive: seen, connected: null };
    liveness.set(id, { ...known, [metric.sign]: seen });
  }
  return liveness;
}

/** Moves the credentials of the address into a header, because `fetch` refuses them in URLs. */
function apart(address: string): { url: URL; authorization: string | undefined } {
  const url = new URL(address);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  url.search = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  if (username === '' && password === '') return { url, authorization: undefined };
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { url, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}
