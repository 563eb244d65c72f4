import { KubeError, parseError, type KubeClient } from '@gwk/core/kubernetes/client';
import { HttpMethod, RequestContext } from '@kubernetes/client-node';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { request as send } from 'undici';

const HEADERS_TIMEOUT_MS = 10_000;

/**
 * Opens an answer that is a text: a log or metrics. client-node's typed calls read every answer as JSON.
 * @throws KubeError
 */
export async function openText(client: KubeClient, path: string, signal?: AbortSignal): Promise<Readable> {
  const context = new RequestContext(`${client.getCurrentCluster()!.server}${path}`, HttpMethod.GET);
  await client.applySecurityAuthentication(context);
  const dispatcher = context.getDispatcher();
  const options = { headersTimeout: HEADERS_TIMEOUT_MS, bodyTimeout: 0, ...(signal && { signal }) };
  const answer = await send(context.getUrl(), {
    method: 'GET',
    headers: context.getHeaders(),
    ...options,
    ...(dispatcher && { dispatcher }),
  }).catch((error: unknown) => {
    throw new KubeError(0, 'NoAnswer', (error as Error).name, error);
  });
  if (answer.statusCode >= 300) throw parseError(answer.statusCode, await answer.body.text());
  return answer.body;
}

export async function readText(client: KubeClient, path: string): Promise<string> {
  return text(await openText(client, path, AbortSignal.timeout(HEADERS_TIMEOUT_MS)));
}
