import { appendFileSync } from 'node:fs';
import { createServer } from 'node:net';

/**
 * Stands in for `gwk engine` in tests of the operator: a real process that takes its lease, renews it and leaves
 * like one. How it misbehaves is said in STAND_IN, as JSON, or by the port's answer to `acquire`.
 */
interface Behaviour {
  /** Ends with this code, after so long. */
  exitCode?: number;
  exitAfterMs?: number;
  /** Takes so long to leave. */
  farewellMs?: number;
  /** Only a kill ends it. */
  stubborn?: boolean;
  /** Printed first, as it is. */
  print?: string;
}

const { GWK_ENGINE_INTERNAL_URL: port = '', GWK_ENGINE_TOKEN: token, GWK_ENGINE_POD: pod = '' } = process.env;
const instance = pod.slice(0, pod.lastIndexOf('-'));
let behaviour = JSON.parse(process.env['STAND_IN'] ?? '{}') as Behaviour;
let leaving = false;

function note(what: string): void {
  const file = process.env['STAND_IN_HISTORY'];
  if (file !== undefined)
    appendFileSync(file, `${JSON.stringify({ what, pod, instance, pid: process.pid, at: Date.now() })}\n`);
}

/** The kernel lets one living process have the name: a second engine for the instance finds it taken. */
function claimInstance(): void {
  const scope = process.env['STAND_IN_SCOPE'];
  if (scope === undefined) return note('start');
  const server = createServer();
  server.once('error', () => note('second'));
  server.listen(`\0${scope}-${instance}`, () => note('start'));
}

async function call(route: string): Promise<number> {
  try {
    const response = await fetch(new URL(`/engine/${route}`, port), {
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
process.stdout.write(`${behaviour.print ?? JSON.stringify({ level: 'info', msg: 'stand-in', pod })}\n`);

if (port !== '') while ((await call('acquire')) !== 200 && !leaving) await sleep(100);
if (behaviour.exitCode !== undefined) {
  await sleep(behaviour.exitAfterMs ?? 0);
  note('end');
  process.exit(behaviour.exitCode);
}
setInterval(() => void (port !== '' && call('renew')), 500);
