import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../support/program.js';
import { show } from './stage.js';

const SCRIPT = join(ROOT, 'test/console/page-script.js');

/** An answer of the API to a page. */
export interface Answer {
  method: string;
  path: string;
  status: number;
}

/** Opens pages, presses all that they offer, and records the answers of the API. */
export class PageWalk {
  private constructor(private readonly page: Page) {}

  /**
   * The page takes all steps of a visit itself: a call of Playwright for each step would take most of the time. The
   * script has an effect from the next load.
   */
  static async start(page: Page): Promise<PageWalk> {
    await page.addInitScript({ path: SCRIPT });
    return new PageWalk(page);
  }

  /** Loads the console, which reads the rights of the user. */
  async load(address: string): Promise<void> {
    await show(this.page, address);
  }

  /** Opens the address and uses each form, button and choice of the page. @returns the answers of the API */
  visit(address: string): Promise<Answer[]> {
    return this.page.evaluate<Answer[]>(`gwkWalk.visit(${JSON.stringify(address)})`);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
