import type { ApiConfig } from './services.js';

/** Public address of the console: its own, or that of the API. Cookies, links and allowed origins depend on it. */
export const findConsoleUrl = ({ consoleUrl, baseUrl }: Pick<ApiConfig, 'consoleUrl' | 'baseUrl'>): string =>
  consoleUrl ?? baseUrl;
