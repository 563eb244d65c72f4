import { AddressGuard } from '../platform/address-guard/guard.js';
import type { ApiConfig } from './services.js';

/** Public address of the console: its own, or that of the API. Cookies, links and allowed origins depend on it. */
export const findConsoleUrl = ({ consoleUrl, baseUrl }: Pick<ApiConfig, 'consoleUrl' | 'baseUrl'>): string =>
  consoleUrl ?? baseUrl;

/** Address of a page of the console, which is at the root of its host, also if the API has a path of its own. */
export const makeConsoleUrl = (consoleUrl: string, page: string): URL =>
  new URL(`/console/${page}`, consoleUrl);

/** Describes the address of the console to the listener that serves it. */
export function readConsoleAddress(config: Pick<ApiConfig, 'consoleUrl' | 'baseUrl' | 'mediaUrl'>) {
  const { protocol, host } = new URL(findConsoleUrl(config));
  return {
    /** Host (with a port that is not the usual one) that serves the console alone; null: it shares that of the API. */
    ownHost: host === new URL(config.baseUrl).host ? null : host,
    secure: protocol === 'https:',
    /** Origin of the links to files. */
    media: new URL(config.mediaUrl ?? config.baseUrl).origin,
  };
}

/** Whether browsers of other networks send passwords and cookies to this address without encryption. */
export function isPublicPlainHttp(url: string): boolean {
  const guard = new AddressGuard({ loopback: false, forbiddenRanges: [], plainHttp: true });
  return new URL(url).protocol === 'http:' && guard.checkUrl(url).ok;
}
