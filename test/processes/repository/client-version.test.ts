import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { BUNDLED, parseRevision } from '@gwk/core/client-version';
import { WebClientHost, type WebClientAnswer } from '@gwk/network/web-client';
import { ROOT } from '../../support/program.js';

const host = new WebClientHost();
const revision = parseRevision(BUNDLED.version);
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => host.handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());

async function compare(most: number, answer: WebClientAnswer) {
  host.answer = answer;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sw.js`;
  const script = spawn(process.execPath, ['scripts/client-version.js', String(most), url], { cwd: ROOT });
  const [stdout, stderr, [status]] = await Promise.all([
    text(script.stdout),
    text(script.stderr),
    once(script, 'exit'),
  ]);
  return { status: status as number, stdout, stderr };
}

test.each([
  ['is the served one', 0, revision, 0],
  ['is a little older', 100_000, revision + 1_000, 0],
  ['is too old', 0, revision + 1_000, 1],
])('the script reports that the bundled version %s', async (_, most, served, status) => {
  expect(await compare(most, { kind: 'script', revision: served })).toEqual({
    status,
    stdout: expect.stringMatching(
      new RegExp(
        `^bundled ${BUNDLED.version} of ${BUNDLED.day}, served 2\\.3000\\.${served}: \\d+ days behind \\(at most ${most}\\)\n$`,
      ),
    ),
    stderr: '',
  });
});

test.each([
  [{ kind: 'empty' }, 'no_revision'],
  [{ kind: 'down' }, 'unreachable'],
  [{ kind: 'script', revision: revision - 1 }, 'older_than_bundled'],
] as const)('the script names the fault of the answer %j', async (answer, fault) => {
  expect(await compare(14, answer)).toEqual({
    status: 2,
    stdout: '',
    stderr: `the served client version could not be read: ${fault}\n`,
  });
});
