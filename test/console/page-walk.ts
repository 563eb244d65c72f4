import type { Locator, Page } from 'playwright-core';
import { show } from './stage.js';

/** An answer of the API to a page. */
export interface Answer {
  method: string;
  path: string;
  status: number;
}

/**
 * Runs in each page before its scripts. Changes go to resources that do not exist: the API checks rights before it looks
 * for the resource, so nothing is lost. Numbers and accounts are not created: the page would leave for the new one.
 */
const RECORD = `(() => {
  const ABSENT = '0'.repeat(32);
  const IDS = /\\b([a-z]{3})_[0-9a-f]{32}\\b/g;
  const send = fetch;
  const record = { pending: 0, answers: [] };
  window.gwkRecord = record;
  const rewrite = async (request) => {
    if (request.method === 'GET') return request;
    const url = request.url.replace(IDS, '$1_' + ABSENT).replace(/opt-outs\\/\\d+/, 'opt-outs/5500000000000');
    const sent = await request.text();
    const isCreation = /\\/(instances|platform\\/accounts)$/.test(url);
    const body = isCreation ? '[]' : sent.replace(IDS, '$1_' + ABSENT);
    const { method, headers, signal } = request;
    return new Request(url, { method, headers, signal, ...(sent !== '' && { body }) });
  };
  window.fetch = async (input, init) => {
    record.pending++;
    try {
      const request = await rewrite(new Request(input, init));
      const answer = await send(request);
      const { pathname } = new URL(request.url);
      record.answers.push({ method: request.method, path: pathname, status: answer.status });
      return answer;
    } finally {
      record.pending--;
    }
  };
})()`;

/** Opens pages, presses all that they offer, and records the answers of the API. */
export class PageWalk {
  private constructor(private readonly page: Page) {}

  static async start(page: Page): Promise<PageWalk> {
    await page.addInitScript(RECORD);
    return new PageWalk(page);
  }

  /** Opens the address and uses each form, button and choice of the page. @returns the answers of the API */
  async visit(address: string): Promise<Answer[]> {
    const { page } = this;
    await show(page, address);
    await this.#settle();
    await this.#useContent();
    for (const tab of await page.locator('main [role=tab][aria-selected=false]').elementHandles()) {
      await tab.dispatchEvent('click');
      await this.#settle();
      await this.#useContent();
    }
    return page.evaluate<Answer[]>('gwkRecord.answers');
  }

  /** Waits until the page has the answers to all its requests, and has rendered them. */
  async #settle(): Promise<void> {
    await this.page.evaluate(`new Promise((resolve) => {
      let calm = 0;
      const look = () => {
        const busy = gwkRecord.pending > 0 || document.querySelector('.mantine-Loader-root') !== null;
        calm = busy ? 0 : calm + 1;
        if (calm > 3) resolve();
        else setTimeout(look);
      };
      look();
    })`);
  }

  async #useContent(): Promise<void> {
    const { pathname } = new URL(this.page.url());
    const main = this.page.locator('main');
    await this.#fill(main);
    for (const button of await main
      .locator('button:enabled:not([role=tab], [aria-label=Copy])')
      .elementHandles()) {
      await button.dispatchEvent('click');
      await this.#settle();
      await this.#useDialog();
      const { pathname: next } = new URL(this.page.url());
      if (next !== pathname) throw new Error(`a button of ${pathname} leads to ${next}`);
    }
    for (const choice of await main.locator('input[aria-haspopup=listbox]:enabled').elementHandles()) {
      await choice.dispatchEvent('click');
      await this.#chooseFirst();
    }
  }

  /** Completes the dialog that a button has opened, if any, and closes it. */
  async #useDialog(): Promise<void> {
    const dialog = this.page.getByRole('dialog');
    if ((await dialog.count()) === 0) return;
    await this.#fill(dialog);
    const submit = dialog.locator('button[type=submit]:enabled');
    if ((await submit.count()) > 0) await submit.first().dispatchEvent('click');
    await this.#settle();
    if ((await dialog.count()) > 0) await this.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }

  /** Fills the empty fields of forms, so that their submission sends a request. */
  async #fill(part: Locator): Promise<void> {
    await this.page.evaluate('for (const form of document.forms) form.noValidate = true');
    const selector = 'form input:not([type]):enabled, form input[type=text]:enabled, form textarea:enabled';
    for (const field of await part.locator(selector).elementHandles()) {
      // A choice in a former field may have replaced this one.
      if (!(await field.isVisible()) || (await field.getAttribute('readonly')) !== null) continue;
      if ((await field.inputValue()) !== '') continue;
      if ((await field.getAttribute('aria-haspopup')) === 'listbox') {
        await field.dispatchEvent('click');
        await this.#chooseFirst();
      } else {
        await field.fill('5511987654321');
      }
    }
  }

  /** Chooses the first option that is not chosen yet, and closes the list. */
  async #chooseFirst(): Promise<void> {
    const other = this.page.locator('[role=option]:visible:not([aria-selected=true])').first();
    if ((await other.count()) > 0) await other.dispatchEvent('click');
    await this.page.keyboard.press('Escape');
    await this.#settle();
  }
}
