import { Agent, get, request, type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, until } from '../support/wait.js';

/** Longer than a stop waited for requests before the setting existed, and shorter than DRAIN_MS. */
const SLOW_UPLOAD_MS = 11_000;
const DRAIN_MS = 16_000;
const CLIENTS = 12;

interface Ended {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The whole body was received. */
  complete: boolean;
}

/** Rejects if there was no response. */
function answerOf(call: ClientRequest): Promise<Ended> {
  return new Promise((resolve, reject) => {
    call.on('error', reject);
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('close', () => {
        const { statusCode: status = 0, headers, complete } = response;
        resolve({ status, headers, text, complete });
      });
    });
  });
}

describe('an API that stops under load', () => {
  let stage: Stage;
  let base: string;
  let authorization: string;
  const agent = new Agent({ keepAlive: true });
  beforeAll(async () => {
    const api = {
      GWK_API_DRAIN_MS: String(DRAIN_MS),
      // The defaults.
      GWK_API_STOP_UNREADY_MS: '500',
      GWK_API_STOP_IDLE_MS: '500',
    };
    stage = await openStage('drain', { settings: { api } });
    base = stage.gateway.urls[0]!;
    authorization = `Bearer ${stage.customer.key.api_key}`;
  });
  afterAll(async () => {
    agent.destroy();
    await stage?.close();
  });

  const call = (method: string, path: string, headers: Record<string, string> = {}): ClientRequest =>
    request(base + path, { method, agent, headers: { authorization, ...headers } });

  /** Sends in a loop on keep-alive connections, until `going` is false or connections are refused. */
  function sends(going: () => boolean, seen: Seen): Promise<unknown> {
    const once = async (client: number, n: number): Promise<boolean> => {
      const text = { body: `${client} ${n}` };
      const body = JSON.stringify({
        instance_id: stage.instance.id,
        to: testPhone(client),
        type: 'text',
        text,
      });
      const post = call('POST', '/v1/messages', { 'content-type': 'application/json' });
      post.end(body);
      try {
        const answer = await answerOf(post);
        if (answer.status === 202 && answer.complete)
          seen.accepted.push((JSON.parse(answer.text) as { id: string }).id);
        else seen.lost.push(`${answer.status}`);
        return true;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ECONNREFUSED') return false;
        seen.lost.push(String(code));
        return true;
      }
    };
    const client = async (place: number): Promise<void> => {
      for (let n = 0; going() && (await once(place, n)); n++);
    };
    return Promise.all(Array.from({ length: CLIENTS }, (_, place) => client(place)));
  }

  interface Seen {
    accepted: string[];
    lost: string[];
  }

  /**
   * Uploads a file in small pieces on its own connection. @returns the response, and a function that ends the
   * upload
   */
  function upload(): { answer: Promise<Ended>; finish: () => void } {
    const post = request(`${base}/v1/media`, {
      method: 'POST',
      agent: false,
      headers: { authorization, 'content-type': 'multipart/form-data; boundary=b' },
    });
    post.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n');
    const trickle = setInterval(() => void (post.writable && post.write('slowly, ')), 100);
    post.on('close', () => clearInterval(trickle));
    const finish = (): void => {
      clearInterval(trickle);
      post.end('\r\n--b--\r\n');
    };
    return { answer: answerOf(post), finish };
  }

  /**
   * Readiness from now until connections are refused, with each change. Requests on keep-alive connections are
   * answered. A connection that opens while the listener closes may be lost.
   */
  async function watchReadiness(): Promise<string[]> {
    const seen: string[] = [];
    for (;;) {
      const ask = get(`${base}/readyz`, { agent });
      const now = await answerOf(ask).then(
        ({ status, text }) =>
          `${status} ${(JSON.parse(text) as { checks: { process: string } }).checks.process}`,
        () => 'nobody',
      );
      if (seen.at(-1) !== now) seen.push(now);
      if (now === 'nobody') return seen;
      await pause(10);
    }
  }

  test('answers every request: sends, a slow upload, an endless upload and a pairing stream', async () => {
    const { client } = stage.customer;
    const waiting = await client.createInstance('waiting');
    await client.untilConnected(waiting.id);
    await client.call('POST', `/v1/instances/${waiting.id}/logout`);
    const stream = answerOf(
      get(`${base}/v1/instances/${waiting.id}/pairing/stream`, { agent: false, headers: { authorization } }),
    );
    const [slow, endless] = [upload(), upload()];
    const seen: Seen = { accepted: [], lost: [] };
    let going = true;
    const sending = sends(() => going, seen);
    const readiness = watchReadiness();
    await until(() => seen.accepted.length >= 4 * CLIENTS, { what: 'sends are in progress' });

    const before = seen.accepted.length;
    const began = performance.now();
    const stopped = stage.gateway.apis[0]!.kill('SIGTERM');
    await sending;
    going = false;
    const streamed = await stream;
    await until(() => performance.now() - began > SLOW_UPLOAD_MS, {
      what: 'the upload has taken long enough',
    });
    slow.finish();
    const [uploaded, refused] = await Promise.all([slow.answer, endless.answer]);
    await stopped;

    report('an API that stops under load', {
      'answered after the signal': seen.accepted.length - before,
      lost: seen.lost.length,
      'ended after, ms': Math.round(performance.now() - began),
    });
    expect(seen.lost).toEqual([]);
    expect(seen.accepted.length).toBeGreaterThan(before);
    expect(await readiness).toEqual(['200 ok', '503 stopping', 'nobody']);
    expect([streamed.status, streamed.complete]).toEqual([200, true]);
    expect([uploaded.status, uploaded.complete]).toEqual([201, true]);
    expect([refused.status, refused.complete]).toEqual([500, true]);
    expect((JSON.parse(refused.text) as ProblemBody).type).toMatch(/internal-error$/);
    expect(refused.headers).toMatchObject({ 'retry-after': '1', connection: 'close' });
    expect(stage.gateway.apis[0]!.deaths.at(-1)).toMatchObject({ code: 0, signal: null });

    await stage.gateway.ready();
    for (const id of seen.accepted.slice(-CLIENTS))
      await until(() => client.hasLeft(id), { what: 'messages accepted during the stop leave' });
  });
});
