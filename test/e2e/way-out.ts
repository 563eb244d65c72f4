import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { TEST_CERTIFICATE } from '../support/certificate.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { GATEWAY } from '../support/kubernetes/nodes/settings.js';
import { TestOidcProvider } from '../support/servers/oidc-provider.js';
import { startProxy, type TestProxy } from '../support/servers/proxies.js';

const ORIGIN = 'https://gateway.example.org';
/** Secret of the proxy and of the provider, and ConfigMap of the authority. */
const OBJECT = 'way-out';
const TRUST = {
  extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/var/run/authority/ca.crt' }],
  extraVolumes: [{ name: 'authority', configMap: { name: OBJECT } }],
  extraVolumeMounts: [{ name: 'authority', mountPath: '/var/run/authority' }],
};

/**
 * Everything outside the cluster: the network, an endpoint of webhooks that also serves a file, and a provider of OpenID
 * Connect. They listen on the loopback address of this machine, which no pod can reach, under names that only the proxy
 * resolves. Pods reach the proxy alone.
 */
export class WayOut {
  /** Bodies of webhook calls. */
  readonly calls: string[] = [];
  readonly file = Buffer.from('%PDF-1.4\n%%EOF\n');
  readonly origin = ORIGIN;
  readonly #hooks = createServer(TEST_CERTIFICATE, (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      if (req.method === 'GET') return res.setHeader('content-type', 'application/pdf').end(this.file);
      this.calls.push(Buffer.concat(chunks).toString());
      return res.end();
    });
  });

  private constructor(
    readonly network: RunningNetwork,
    readonly provider: TestOidcProvider,
    readonly proxy: TestProxy,
  ) {}

  static async start(): Promise<WayOut> {
    const network = await startNetwork({ mediaName: 'media.network.test' });
    const provider = await TestOidcProvider.start([`${ORIGIN}/console/oidc`], TEST_CERTIFICATE);
    const out = new WayOut(network, provider, await startProxy('http', 0, GATEWAY));
    await once(out.#hooks.listen(0, '127.0.0.1'), 'listening');
    return out;
  }

  async stop(): Promise<void> {
    this.#hooks.close();
    this.#hooks.closeAllConnections();
    await this.proxy.stop();
    await this.provider.stop();
    await this.network.close();
  }

  get hooksUrl(): string {
    return `https://${TEST_CERTIFICATE.name}:${(this.#hooks.address() as AddressInfo).port}`;
  }

  get #mediaUrl(): string {
    return `https://${this.network.network.world.media!.host}`;
  }

  get networkUrl(): string {
    return nameHost(this.network.url);
  }

  /** Connections that the proxy opened, by host. */
  countConnections(): Record<string, number> {
    const urls = [this.networkUrl, this.#mediaUrl, this.hooksUrl, this.provider.issuer];
    const hosts = urls.map((url) => new URL(url).host);
    const count = (host: string) => this.proxy.opened.filter((target) => target === host).length;
    return Object.fromEntries(hosts.map((host) => [host, count(host)]));
  }

  /** Objects that the values name. */
  objects(namespace: string): KubeObject[] {
    const metadata = { name: OBJECT, namespace };
    const stringData = { 'proxy-url': this.proxy.url, 'client-secret': this.provider.clientSecret };
    return [
      { apiVersion: 'v1', kind: 'Secret', metadata, stringData },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': TEST_CERTIFICATE.cert } },
    ];
  }

  values() {
    const { GWK_API_OIDC_CLIENT_ID: clientId } = this.provider.settings;
    return {
      proxy: { existingSecret: OBJECT },
      networkPolicy: { proxy: [{ ipBlock: { cidr: `${GATEWAY}/32` } }], proxyPorts: [this.proxy.port] },
      api: {
        ...TRUST,
        baseUrl: ORIGIN,
        console: {
          oidc: { issuer: this.provider.issuer, clientId, existingSecret: OBJECT, domains: ['example.org'] },
        },
      },
      worker: {
        ...TRUST,
        settings: {
          GWK_WORKER_PROXY_NAMES: 'trust',
          GWK_WORKER_CLIENT_VERSION_URL: nameHost(this.network.webClientUrl),
        },
      },
      operator: {
        settings: {
          GWK_OPERATOR_NETWORK_URL: this.networkUrl,
          GWK_OPERATOR_NETWORK_ROOT: this.network.root.toString('hex'),
          GWK_OPERATOR_NETWORK_CA: MEDIA_CERTIFICATE.cert,
        },
      },
    };
  }
}

/** The proxy resolves this name to the machine. */
const nameHost = (url: string): string => url.replace('127.0.0.1', 'web.network.test');
