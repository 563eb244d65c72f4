import { openDatabase } from '@gwk/api/database/database';
import { trafficJob } from '@gwk/api/jobs/traffic';
import { migrate } from '@gwk/api/database/migrate';
import { openBrowser, type Browser } from '../support/api/console.js';
import { TestApi } from '../support/api/test-api.js';
import { query } from '../support/servers/database.js';
import { fillLargeAccount } from '../support/servers/large-account.js';
import { startChromium } from '../console/chromium.js';
import { startBenchServers, type BenchServers } from './shared/servers.js';
import { progress, setting, Table } from './shared/table.js';

/**
 * `make bench-console`: the requests of the console and its overview in Chromium, for an account with 1,000 numbers and a
 * million messages of 30 days, and with 100,000 conversations of one number. Conditions: the median of each request takes at
 * most 100 ms, of a page of conversations 50 ms, and the overview shows its data at most 1.5 s after the browser opened it.
 *
 * Settings: `NUMBERS=1000`; `MESSAGES=1000000`; `CONVERSATIONS=100000`; `ROUNDS=20`.
 */
const NUMBERS = setting('NUMBERS', 1_000);
const MESSAGES = setting('MESSAGES', 1_000_000);
const CONVERSATIONS = setting('CONVERSATIONS', 100_000);
const ROUNDS = setting('ROUNDS', 20);
const DAYS = 30;
const REQUEST_MS = 100;
const CONVERSATIONS_MS = 50;
const OVERVIEW_MS = 1_500;
const REQUESTS = {
  overview: '/console/api/overview',
  'list of numbers': '/console/api/instances?limit=50',
  'numbers by name': '/console/api/instances?limit=50&search=99',
  'list of messages': '/v1/messages',
  'failed messages': '/v1/messages?status=failed',
  'messages of a type': '/v1/messages?type=image',
  'list of opt-outs': '/v1/opt-outs',
  'list of webhooks': '/console/api/webhook-endpoints',
};
const CONVERSATION_REQUESTS = {
  conversations: '/v1/conversations',
  'conversations, 200': '/v1/conversations?limit=200',
  contacts: '/v1/contacts',
};
/** Searches for a common, a rare and an unknown name, and a phone number. */
const SEARCHES = {
  'conversations by a common name': '/v1/conversations?search=contact',
  'conversations by a rare name': '/v1/conversations?search=c4ca4238a0',
  'conversations by an unknown name': '/v1/conversations?search=nobody',
  'conversations by a phone number': '/v1/conversations?search=900099999',
  'contacts by a rare name': '/v1/contacts?search=c4ca4238a0',
};

async function main(): Promise<void> {
  const servers = await startBenchServers();
  try {
    const databaseUrl = await createDatabase(servers);
    const api = await TestApi.start({ databaseUrl, redisUrl: servers.redis.url, redisPrefix: 'console:' });
    try {
      await measure(api);
    } finally {
      await api.stop();
    }
  } finally {
    await servers.stop();
  }
}

async function createDatabase(servers: BenchServers): Promise<string> {
  await query(servers.postgres.url, 'CREATE DATABASE console');
  const url = new URL(servers.postgres.url);
  url.pathname = '/console';
  await migrate(url.href);
  return url.href;
}

async function measure(api: TestApi): Promise<void> {
  const { databaseUrl } = api.options;
  const account = await api.account();
  progress(`an account with ${NUMBERS} numbers and ${MESSAGES} messages`);
  await fillLargeAccount({
    databaseUrl,
    accountId: account.id,
    instances: NUMBERS,
    messages: MESSAGES,
    conversations: CONVERSATIONS,
    days: DAYS,
  });
  const db = openDatabase({ url: databaseUrl, poolSize: 2, program: 'bench' });
  const began = performance.now();
  while ((await trafficJob({ db }).pass()).more);
  progress(`the worker counted the traffic in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  await db.$disconnect();
  const browser = await openBrowser(api, account);
  const table = new Table(`${NUMBERS} numbers, ${MESSAGES} messages, ${ROUNDS} rounds`);
  const measureAll = async (requests: Record<string, string>, atMost: number): Promise<void> => {
    for (const [name, path] of Object.entries(requests)) {
      const first = await time(browser, path);
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) times.push(await time(browser, path));
      table.rounds(`${name}, ms (the first: ${first.toFixed(0)})`, times, 1, { atMost });
    }
  };
  await measureAll(REQUESTS, REQUEST_MS);
  await measureAll(CONVERSATION_REQUESTS, CONVERSATIONS_MS);
  await measureAll(SEARCHES, REQUEST_MS);
  const { usable, complete } = await showOverview(api, browser, account.id);
  table.rounds('overview in the browser, ms', usable, 0, { atMost: OVERVIEW_MS });
  table.rounds('overview with its chart, ms', complete, 0, { atMost: OVERVIEW_MS });
  table.print();
}

async function time(browser: Browser, path: string): Promise<number> {
  const began = performance.now();
  const { status } = await browser.call('GET', path);
  if (status !== 200) throw new Error(`${status} from ${path}`);
  return performance.now() - began;
}

/** Opens the overview in new browsers without a cache, until its counts are shown, and until its chart is. */
async function showOverview(api: TestApi, { headers }: Browser, accountId: string) {
  const chromium = await startChromium();
  const address = `http://127.0.0.1:${api.port}`;
  const [name, value] = headers['cookie']!.split('=') as [string, string];
  const usable: number[] = [];
  const complete: number[] = [];
  for (let round = 0; round < 5; round++) {
    const context = await chromium.newContext({ locale: 'en-US' });
    await context.addCookies([{ name, value, url: address }]);
    const page = await context.newPage();
    const began = performance.now();
    await page.goto(`${address}/console/acc_${accountId.replaceAll('-', '')}/overview`);
    await page.getByRole('heading', { name: 'Numbers by state' }).waitFor();
    usable.push(performance.now() - began);
    await page.locator('.recharts-wrapper').waitFor();
    complete.push(performance.now() - began);
    await context.close();
  }
  await chromium.close();
  return { usable, complete };
}

await main();
