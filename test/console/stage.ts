import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Role } from '@gwk/api/roles';
import { NetworkClient } from '@gwk/network/control/client';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { networkEnvironment } from '../support/instance/stage.js';
import { ROOT } from '../support/program.js';
import { startChromium } from './chromium.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Git ignores this folder. */
const SCREENSHOTS = join(ROOT, '.images/screenshots');
const EMAIL = 'ana@example.com';

interface MemberChange {
  role?: Role;
  /** Null: all numbers. */
  instance_ids?: readonly string[] | null;
}

/** A gateway on the simulated network, a browser, and a user who owns the account of a customer. */
export class ConsoleStage {
  /** Violations of the Content-Security-Policy and uncaught errors of all pages. */
  readonly faults: string[] = [];
  /** Session of the owner, without a page. */
  #owner?: Promise<BrowserContext>;

  private constructor(
    readonly gateway: Gateway,
    readonly customer: Customer,
    readonly browser: Browser,
    readonly running: RunningNetwork,
  ) {}

  /** @param settings of the API */
  static async open(
    name: string,
    settings: Record<string, string> = {},
    worker: Record<string, string> = {},
  ): Promise<ConsoleStage> {
    const running = await startNetwork();
    // All requests of the browser come from one address.
    const api = { GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '1000000', ...settings };
    const gateway = await Gateway.start({
      settings: { api, worker, operator: networkEnvironment(running, 'OPERATOR') },
    });
    const customer = await newCustomer(gateway, name);
    const stage = new ConsoleStage(gateway, customer, await startChromium(), running);
    await stage.createUser(EMAIL, 'owner');
    return stage;
  }

  /** The network of paired numbers. */
  get network(): NetworkClient {
    return new NetworkClient(this.running.controlUrl);
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.customer.close();
    await this.gateway.stop();
    await this.running.close();
  }

  async createUser(email: string, role: string): Promise<void> {
    const { name } = this.customer.account;
    await this.gateway.gwk('user', 'create', email, '--name', 'Ana Souza', '--account', name, '--role', role);
  }

  /** Changes the role or the numbers of a member, as the owner. */
  async changeMember(email: string, change: MemberChange): Promise<void> {
    const { request } = await (this.#owner ??= this.#signInOwner());
    const url = this.gateway.urls[0]!;
    const headers = { 'X-Gwk-Account': this.customer.account.id, Origin: url };
    const read = async <T>(path: string) =>
      (await (await request.get(`${url}/console/api/${path}`, { headers })).json()) as T;
    const { csrf_token } = await read<{ csrf_token: string }>('session');
    const { data } = await read<{ data: { user_id: string; email: string }[] }>('members');
    const { user_id } = data.find((member) => member.email === email)!;
    const answer = await request.patch(`${url}/console/api/members/${user_id}`, {
      headers: { ...headers, 'X-CSRF-Token': csrf_token },
      data: change,
    });
    if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`);
  }

  async #signInOwner(): Promise<BrowserContext> {
    const page = await this.signIn();
    await page.close();
    return page.context();
  }

  async createPlatformAdmin(email: string): Promise<void> {
    await this.gateway.gwk('user', 'create', email, '--name', 'Paula Lima', '--platform-admin');
  }

  /** The address of a new one-time link. */
  async handoff(email = EMAIL): Promise<string> {
    const { url } = await this.gateway.gwk<{ url: string }>('user', 'handoff', email);
    return `${this.gateway.urls[0]!}/console/handoff${new URL(url).hash}`;
  }

  /** A page in a browser of its own, without a session. */
  async newPage(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ locale: 'en-US', ...options });
    const page = await context.newPage();
    page.on('pageerror', (error) => this.faults.push(`${page.url()}: ${error.message}`));
    page.on('console', (line) => {
      if (line.text().includes('Content Security Policy')) this.faults.push(`${page.url()}: ${line.text()}`);
    });
    return page;
  }

  /** A page that is signed in by a one-time link. */
  async signIn(options: BrowserContextOptions = {}, email = EMAIL): Promise<Page> {
    const page = await this.newPage(options);
    await page.goto(await this.handoff(email));
    await page.waitForURL('**/overview');
    return page;
  }

  /** The address of a page of the account. */
  at(path: string): string {
    return `${this.gateway.urls[0]!}/console/${this.customer.account.id}/${path}`;
  }

  /** The address of a page for administrators of the platform. */
  atPlatform(path: string): string {
    return `${this.gateway.urls[0]!}/console/platform/${path}`;
  }
}

/** Opens an address and waits until the page has its data. */
export async function show(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.mantine-Loader-root').first().waitFor({ state: 'detached' });
}

export async function takePicture(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  // To hide the caret, Playwright would add a style that the policy of the page may refuse.
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true, caret: 'initial' });
}

/** Sizes and colours in which pages without a session are kept as pictures. */
const LOOKS = {
  '': { width: 1280, height: 720, colorScheme: 'light' },
  '-dark': { width: 1280, height: 720, colorScheme: 'dark' },
  '-phone-light': { width: 390, height: 800, colorScheme: 'light' },
  '-phone': { width: 390, height: 800, colorScheme: 'dark' },
} as const;

/** Keeps pictures of the page at once in light and dark, wide and narrow, where axe must find nothing. */
export async function takePictures(page: Page, name: string): Promise<void> {
  for (const [look, { width, height, colorScheme }] of Object.entries(LOOKS)) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, name + look);
  }
}

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string }[];
}

/** Serious and critical violations that axe finds on the page. */
export const findViolations = (page: Page): Promise<string[]> =>
  listViolations(page, (impact) => impact === 'serious' || impact === 'critical');

/** Violations of any impact, or of those that count. */
export async function listViolations(
  page: Page,
  counts: (impact: string | null) => boolean = () => true,
): Promise<string[]> {
  await page.evaluate(AXE);
  const violations = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)');
  return violations.filter(({ impact }) => counts(impact)).map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}
