import { randomBytes } from 'node:crypto';
import { createLogger } from '@gwk/core/process/log';
import { encodeCommand } from '@gwk/core/protocol/commands';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { CommandReader, type CommandReaderOptions } from './command-reader.js';
import type { RedisConnection } from './connection.js';
import type { ReconnectingLink } from './reconnecting-link.js';
import type { Reply } from './resp.js';

const key = randomBytes(32);
const NOW_S = 1_800_000_000;
const entry = (id: string) => {
  const deadline = NOW_S * 1000 + 5_000;
  const fields = encodeCommand({ id, name: 'restart', args: '{}', deadline, requester: 'api' }, key);
  return ['1-0', Object.entries(fields).flat()];
};

/** A link whose connections show these entries, one batch each, and delete each of them. */
function linkTo(batches: Reply[][]): ReconnectingLink {
  const call = ([name]: readonly string[]): Promise<Reply> => {
    if (name === 'XDEL') return Promise.resolve(1);
    if (name === 'TIME') return Promise.resolve([String(NOW_S), '0']);
    const entries = batches.shift();
    return entries ? Promise.resolve([['stream', entries]]) : Promise.reject(new Error('closed'));
  };
  const run = (work: (connection: RedisConnection) => Promise<void>) => work({ call } as RedisConnection);
  return { run } as ReconnectingLink;
}

test('executes a command once if a failover of Redis shows its entry again', async () => {
  const restart = jest.fn(() => null);
  const reader = new CommandReader({
    instanceId: 'instance',
    keys: new RedisKeys('gwk:'),
    commandKey: key,
    link: linkTo([[entry('one')], [entry('one'), entry('two')]]),
    publisher: { call: () => Promise.resolve(0) } as unknown as ReconnectingLink,
    log: createLogger('test', 'silent'),
    handlers: { restart } as unknown as CommandReaderOptions['handlers'],
  });
  await expect(reader.run()).rejects.toThrow('closed');
  await reader.waitForReplies();
  expect(restart).toHaveBeenCalledTimes(2);
});
