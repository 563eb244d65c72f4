import { PAIRING_FIELD, pairingSecretName, type PairingView } from '@gwk/core/resources/pairing-request';
import { notFoundError } from '../cluster/local/api-status.js';
import { sendJson, type Exchange } from './exchange.js';

const ROUTE = /^\/api\/v1\/namespaces\/([^/]+)\/secrets\/([^/]+)$/;

/** Serves the state of pairings as Secrets, like Kubernetes, for `gwk pair`. @throws ApiStatus */
export function servePairingSecret(exchange: Exchange, views: ReadonlyMap<string, PairingView>): boolean {
  const [, namespace, asked] = ROUTE.exec(exchange.path) ?? [];
  if (namespace === undefined || asked === undefined || exchange.method !== 'GET') return false;
  const key = [...views.keys()].find((one) => {
    const [place, name = ''] = one.split('/');
    return place === namespace && pairingSecretName(name) === asked;
  });
  if (key === undefined) throw notFoundError(asked);
  const text = JSON.stringify(views.get(key));
  sendJson(exchange, 200, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: asked, namespace },
    data: { [PAIRING_FIELD]: Buffer.from(text).toString('base64') },
  });
  return true;
}
