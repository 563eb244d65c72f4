import { request } from 'node:https';

/** Minimal client of the Kubernetes API, so that tests see the raw responses of the server. */
export interface Access {
  ca: string;
  token: string;
}

export interface Answer {
  status: number;
  text: string;
}

export interface Call extends Access {
  method?: string;
  body?: unknown;
  type?: string;
}

export function call(url: string, { method = 'GET', body, type, ca, token }: Call): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method,
        ca,
        agent: false,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          ...(text !== undefined && {
            'content-type': type ?? 'application/json',
            'content-length': Buffer.byteLength(text),
          }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    outgoing.once('error', reject);
    outgoing.end(text);
  });
}
