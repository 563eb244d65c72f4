import type { ProblemBody } from '@gwk/core/problems/problems';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Answer } from '../support/gateway/client.js';
import { openSharedStage, type SharedStage } from './shared-stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { until } from '../support/wait.js';

const REQUESTS = 200;

describe('one Idempotency-Key at two API processes', () => {
  let stage: SharedStage;
  beforeAll(async () => {
    stage = await openSharedStage('idempotency');
  });

  const indexes = Array.from({ length: REQUESTS }, (_, index) => index);
  const post = (index: number, to: string, text: string, key: string) => {
    const { clients } = stage.customer;
    return clients[index % clients.length]!.sendText(stage.instance.id, to, text, key);
  };
  const codeOf = ({ body }: Answer<unknown>) => (body as ProblemBody).type?.split('/').at(-1);
  const count = (answers: Answer<unknown>[], status: number) =>
    answers.filter((answer) => answer.status === status).length;

  test('200 concurrent requests with one key create one message, which is sent once', async () => {
    const answers = await Promise.all(
      indexes.map((index) => post(index, testPhone(1), 'only once', 'one-key')),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    const others = answers.filter(({ status }) => status !== 202);
    report('200 requests with one key', {
      accepted: accepted.length,
      'rejected as in progress': others.length,
    });
    expect(new Set(accepted.map(({ body }) => body.id)).size).toBe(1);
    expect(accepted.filter(({ headers }) => headers['idempotent-replayed'] !== 'true')).toHaveLength(1);
    for (const answer of others)
      expect([answer.status, codeOf(answer)]).toEqual([409, 'idempotency-in-progress']);

    const { client } = stage.customer;
    const [message, ...more] = await client.messages({ instance_id: stage.instance.id });
    expect(more).toEqual([]);
    await until(async () => (await client.message(message!.id)).status === 'read', {
      what: 'the message is read',
    });
    const stanzas = await stage.network.stanzasOf(stage.instance.id);
    expect(stanzas.map(({ text }) => text)).toEqual(['only once']);
  });

  test('rejects a key reused with another body, and accepts the requests beside it', async () => {
    const first = await Promise.all(
      indexes.map((index) => post(index, testPhone(index), 'first', `key-${index}`)),
    );
    expect(count(first, 202)).toBe(REQUESTS);
    // One in ten uses a key again.
    const keyOf = (index: number) => (index % 10 === 0 ? `key-${index}` : `fresh-${index}`);
    const second = await Promise.all(
      indexes.map((index) => post(index, testPhone(index), 'second', keyOf(index))),
    );
    const reused = second.filter((_, index) => index % 10 === 0);
    report('200 requests, one in ten with a used key', {
      accepted: count(second, 202),
      refused: count(second, 422),
    });
    expect(reused.map(codeOf)).toEqual(reused.map(() => 'idempotency-key-reused'));
    expect(count(second, 202)).toBe(REQUESTS - REQUESTS / 10);
    const ids = [...first, ...second].filter(({ status }) => status === 202).map(({ body }) => body.id);
    expect(new Set(ids).size).toBe(ids.length);
    const listed = await stage.customer.client.messages({ instance_id: stage.instance.id });
    expect(new Set(listed.map(({ id }: MessageOut) => id))).toEqual(
      new Set([...ids, ...idsOfFirstTest(listed)]),
    );
  });

  const idsOfFirstTest = (listed: MessageOut[]) => [listed.at(-1)!.id];
});
