import { randomBytes } from 'node:crypto';
import type { MediaOut } from '@gwk/core/resources/media';
import type { CrowdPlan } from '../../support/gateway/crowd-process.js';
import type { CrowdStage } from './stage.js';

/** Behaviour of each connection of a crowd. */
export type Kind = Pick<CrowdPlan, 'port' | 'first' | 'piece' | 'everyMs' | 'reads'>;

const FILE_BYTES = 4 * 1024 * 1024;

/** Uploads the file that the crowd downloads. */
export async function listKinds({ stage, ports }: CrowdStage): Promise<Record<string, Kind>> {
  const { api_key: apiKey } = stage.customer.key;
  const link = await uploadFile(ports.public, apiKey);
  const silent = { port: ports.public, first: '', piece: '', everyMs: 1_000, reads: true };
  const form = '--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n';
  const head = (line: string, ...more: string[]): string => [line, 'Host: gwk', ...more, '', ''].join('\r\n');
  return {
    idle: silent,
    'kept after an answer': { ...silent, first: head('GET /livez HTTP/1.1') },
    'trickling head': {
      ...silent,
      first: 'POST /v1/messages HTTP/1.1\r\nHost: gwk\r\n',
      piece: 'X-More: a\r\n',
      everyMs: 4_000,
    },
    'trickling body after the answer': {
      ...silent,
      first: head('POST /v1/opt-outs HTTP/1.1', 'Content-Length: 65536'),
      piece: ' ',
    },
    'slow download': { ...silent, first: head(`GET ${link.pathname}${link.search} HTTP/1.1`), reads: false },
    'slow upload': {
      ...silent,
      first:
        head(
          'POST /v1/media HTTP/1.1',
          `Authorization: Bearer ${apiKey}`,
          'Content-Type: multipart/form-data; boundary=x',
          `Content-Length: ${FILE_BYTES}`,
        ) + form,
      piece: 'a',
      everyMs: 2_000,
    },
    'silent TLS, internal API': { ...silent, port: ports.internal },
  };
}

async function uploadFile(port: number, apiKey: string): Promise<URL> {
  const form = new FormData();
  form.append('file', new Blob([randomBytes(FILE_BYTES)]), 'f.bin');
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`http://127.0.0.1:${port}/v1/media`, { method: 'POST', headers, body: form });
  const { url } = (await answer.json()) as MediaOut;
  return new URL(url!);
}
