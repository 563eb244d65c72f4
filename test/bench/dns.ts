import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { startTestDns, type TestDns } from '../support/dns.js';
import { openStage, replaceEngine } from './engine/stage.js';
import { Table } from './shared/table.js';

/**
 * `make bench-dns`, as root: DNS queries of one engine from its start until it is connected, with the search domains of
 * a pod. It runs in a network of its own, in which every name leads to this machine.
 */
const RESOLV = '/etc/resolv.conf';
const DNS_PORT = 53;
const INTERNAL_PORT = '8081';
const CLUSTER = 'cluster.local';
const NAMESPACE = 'messages';
const FORMS = { 'as the chart writes them (.svc)': '', 'full, with a dot at the end': `.${CLUSTER}.` };
const NDOTS = [5, 2];
const ROUNDS = 3;

const service = (name: string, form: string): string => `${name}.${NAMESPACE}.svc${form}`;
const OUTSIDE = 'web.whatsapp.com';
const KNOWN = new Set([OUTSIDE, service('gwk-internal', `.${CLUSTER}`), service('redis', `.${CLUSTER}`)]);

async function main(): Promise<void> {
  const dns = await startTestDns(
    (name, type) => (type === 'A' && KNOWN.has(name) ? ['127.0.0.1'] : []),
    DNS_PORT,
  );
  const table = new Table('DNS queries of one engine, from its start until it is connected');
  try {
    for (const [title, form] of Object.entries(FORMS)) await measureForm(table, dns, title, form);
  } finally {
    await dns.stop();
  }
  table.print();
}

async function measureForm(table: Table, dns: TestDns, title: string, form: string): Promise<void> {
  configureResolver(NDOTS[0]!);
  const stage = await openStage(0, (network, redis) => ({
    api: {
      GWK_API_INTERNAL_PORT: INTERNAL_PORT,
      GWK_API_ENGINE_REDIS_URL: `redis://${service('redis', form)}:${new URL(redis).port}`,
    },
    operator: {
      GWK_OPERATOR_INTERNAL_URL: `http://${service('gwk-internal', form)}:${INTERNAL_PORT}`,
      GWK_OPERATOR_NETWORK_URL: network.replace('127.0.0.1', OUTSIDE),
    },
  }));
  try {
    for (const ndots of NDOTS) {
      configureResolver(ndots);
      const counts: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        // The operator and the API keep their connections, so only the engine asks.
        dns.asked.length = 0;
        await replaceEngine(stage);
        counts.push(dns.asked.length);
      }
      table.rounds(`${title}, ndots:${ndots}`, counts);
      console.log(`${title}, ndots:${ndots}: ${summarize(dns.asked)}`);
    }
  } finally {
    await stage.close();
  }
}

/** As the kubelet writes it. */
function configureResolver(ndots: number): void {
  const search = `${NAMESPACE}.svc.${CLUSTER} svc.${CLUSTER} ${CLUSTER}`;
  writeFileSync(RESOLV, `nameserver 127.0.0.1\nsearch ${search}\noptions ndots:${ndots}\n`);
}

function summarize(asked: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of asked) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ');
}

if (process.env['BENCH_DNS_ISOLATED'] === 'true') {
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  // Private to this mount namespace.
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run']);
  writeFileSync('/run/resolv.conf', '');
  execFileSync('mount', ['--bind', '/run/resolv.conf', RESOLV]);
  await main();
} else {
  const env = { ...process.env, BENCH_DNS_ISOLATED: 'true' };
  execFileSync('unshare', ['--net', '--mount', process.execPath, ...process.argv.slice(1)], {
    env,
    stdio: 'inherit',
  });
}
