import { findFault } from '../proxy/access.js';
import { Kind } from './kinds.js';
import { rotatingSetting, secretSetting, setting, types } from './load.js';

const URLS = types.url('http', 'https', 'socks5', 'socks5h');

const proxyUrl = () =>
  new Kind<string>((text) => {
    const reading = URLS.read(text);
    const fault = reading.ok ? findFault(text) : null;
    return fault === null ? reading : { ok: false, fault };
  }).optional();

/** Settings of a program that connects to addresses outside the cluster. */
export const proxySettings = (prefix: string, use: string) => ({
  proxyUrl: rotatingSetting(
    `${prefix}_PROXY_URL`,
    proxyUrl(),
    `Proxy for ${use}, with user and password if it needs them: \`http://\`, \`https://\` or \`socks5://\`. Default: HTTPS_PROXY. A changed file is used by the next connection.`,
  ),
  proxyCa: setting(
    `${prefix}_PROXY_CA`,
    types.text().optional(),
    'Certificate authority (PEM) that must have signed the certificate of an `https://` proxy. Default: public authorities.',
  ),
  noProxy: setting(
    `${prefix}_NO_PROXY`,
    types.text().optional(),
    'Hosts that the program reaches without the proxy, separated by commas: names (with their subdomains), addresses, ranges (CIDR) or `*`, each with an optional port. Default: NO_PROXY.',
  ),
  standardProxyUrl: secretSetting(
    'HTTPS_PROXY',
    proxyUrl(),
    `Proxy if ${prefix}_PROXY_URL is not set. Other variables for proxies (HTTP_PROXY, ALL_PROXY, names in lower case) have no effect.`,
  ),
  standardNoProxy: setting(
    'NO_PROXY',
    types.text().optional(),
    `Hosts without the proxy if ${prefix}_NO_PROXY is not set.`,
  ),
});
