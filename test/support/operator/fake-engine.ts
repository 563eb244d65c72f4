import { appendFileSync } from 'node:fs';
import { createServer } from 'node:net';

/**
 * A fake `gwk engine` for tests of the operator: a real process that takes its lease, renews it and releases it. Its
 * misbehaviour comes as JSON in FAKE_ENGINE_BEHAVIOUR, or in the answer to `acquire`.
 */
interface Behaviour {
  /** Exits with this code after `exitAfterMs`. */
  exitCode?: number;
  exitAfterMs?: number;
  /** Delay before it exits. */
  farewellMs?: number;
  /** Ignores SIGTERM. */
  stubborn?: boolean;
  /** First line of its output. */
  print?: string;
}

const { GWK_ENGINE_INTERNAL_URL: url = '', GWK_ENGINE_TOKEN: token, GWK_ENGINE_POD: pod = '' } = process.env;
const instance = pod.slice(0, pod.lastIndexOf('-'));
let behaviour = JSON.parse(process.env['FAKE_ENGINE_BEHAVIOUR'] ?? '{}') as Behaviour;
let leaving = false;

function note(what: string): void {
  const file = process.env['FAKE_ENGINE_HISTORY'];
  if (file !== undefined)
    appendFileSync(file, `${JSON.stringify({ what, pod, instance, pid: process.pid, at: Date.now() })}\n`);
}

/** Claims an abstract socket name, which only one living process can have, to detect a second engine. */
function claimInstance(): void {
  const scope = process.env['FAKE_ENGINE_SCOPE'];
  if (scope === undefined) return note('start');
  const server = createServer();
  server.once('error', () => note('second'));
  server.listen(`\0${scope}-${instance}`, () => note('start'));
}

async function call(route: string): Promise<number> {
  try {
    const response = await fetch(new URL(`/engine/${route}`, url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ pod }),
      signal: AbortSignal.timeout(2000),
    });
    const answer = (await response.json()) as { behaviour?: Behaviour };
    if (answer.behaviour) behaviour = { ...behaviour, ...answer.behaviour };
    return response.status;
  } catch {
    return 0;
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function leave(): Promise<void> {
  if (behaviour.stubborn || leaving) return;
  leaving = true;
  await sleep(behaviour.farewellMs ?? 0);
  await call('release');
  note('end');
  process.exit(0);
}

claimInstance();
process.on('SIGTERM', () => void leave());
process.stdin.on('end', () => void leave());
process.stdin.resume();
process.stdout.write(`${behaviour.print ?? JSON.stringify({ level: 'info', msg: 'fake engine', pod })}\n`);

if (url !== '') while ((await call('acquire')) !== 200 && !leaving) await sleep(100);
if (behaviour.exitCode !== undefined) {
  await sleep(behaviour.exitAfterMs ?? 0);
  note('end');
  process.exit(behaviour.exitCode);
}
setInterval(() => void (url !== '' && call('renew')), 500);
