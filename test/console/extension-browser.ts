import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { TEST_CERTIFICATE } from '../support/certificate.js';
import { ROOT } from '../support/program.js';
import { addAuthenticator, startProfile, type StoredPasskey } from './chromium.js';

/** A host without TLS that is not this machine. */
export const INSECURE = 'http://insecure.example.org';

/** Chromium with the extension of the repository. Servers of this machine play the network's site and foreign pages. */
export class ExtensionBrowser {
  /** HTML that the foreign server answers with, by path. */
  readonly pages = new Map<string, string>();
  /** Content-Security-Policy of the foreign server, by path. */
  readonly policies = new Map<string, string>();
  #answerNetwork: () => void = () => undefined;

  private constructor(
    readonly context: BrowserContext,
    private readonly cdp: CDPSession,
    private readonly id: string,
    private readonly servers: Record<'network' | 'foreign', Server>,
  ) {}

  static async open(): Promise<ExtensionBrowser> {
    const [network, foreign] = [createTlsServer(TEST_CERTIFICATE), createServer()];
    for (const server of [network, foreign]) await once(server.listen(0, '127.0.0.1'), 'listening');
    const context = await startProfile([
      `--host-resolver-rules=MAP web.whatsapp.com:443 127.0.0.1:${portOf(network)},MAP insecure.example.org:80 127.0.0.1:${portOf(foreign)}`,
      '--ignore-certificate-errors',
    ]);
    const cdp = await context.browser()!.newBrowserCDPSession();
    const { id } = await cdp.send('Extensions.loadUnpacked', { path: join(ROOT, 'extension') });
    const browser = new ExtensionBrowser(context, cdp, id, { network, foreign });
    foreign.on('request', ({ url }, response) => {
      response.setHeader('content-security-policy', browser.policies.get(url!) ?? '');
      response.setHeader('content-type', 'text/html; charset=utf-8').end(browser.pages.get(url!) ?? '');
    });
    network.on('request', (_, response) => {
      response.setHeader('content-type', 'text/html').write('<!doctype html><title>WhatsApp</title>');
      browser.#answerNetwork = () => response.end('<h1>WhatsApp Web</h1>');
    });
    return browser;
  }

  async close(): Promise<void> {
    await this.context.close();
    for (const server of Object.values(this.servers)) server.close();
  }

  /** Origin of the foreign server. It is the same site as the console, so the console's cookies reach frames. */
  get foreign(): string {
    return `http://127.0.0.1:${portOf(this.servers.foreign)}`;
  }

  async show(address: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(address);
    return page;
  }

  /** Presses the button of the extension in the toolbar, and returns the window that opens. */
  async press(page: Page): Promise<Page> {
    await page.bringToFront();
    const { targetInfos } = await this.cdp.send('Target.getTargets', { filter: [{ type: 'tab' }] });
    const tab = targetInfos.find(({ url }) => url === page.url())!;
    const opened = this.context.waitForEvent('page');
    await this.cdp.send('Extensions.triggerAction', { id: this.id, targetId: tab.targetId });
    const window = await opened;
    await window.getByRole('heading', { level: 1 }).waitFor();
    return window;
  }

  /** Continues in the window of the extension. @returns the network's page, which loads until `confirm` answers it */
  async proceed(window: Page): Promise<Page> {
    const opened = this.context.waitForEvent('page');
    await window.getByRole('button', { name: 'Continue' }).click();
    return opened;
  }

  /** Continues in the window of the extension. The network's page asks an authenticator with the passkey. */
  async confirm(window: Page, passkey: StoredPasskey): Promise<void> {
    const network = await this.proceed(window);
    const closed = network.waitForEvent('close');
    await addAuthenticator(network, passkey);
    this.#answerNetwork();
    await closed;
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
