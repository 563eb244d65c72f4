import type { InstanceResource } from '@gwk/core/resources/manifest';
import { badRequest } from '../cluster/local/desired.js';

export type ResourceFilter = (resource: InstanceResource) => boolean;

/** `labelSelector` and `fieldSelector` with equalities. @throws ApiStatus */
export function parseSelector(query: URLSearchParams, namespace: string | undefined): ResourceFilter {
  const labels = equalities(query.get('labelSelector') ?? '');
  const fields = equalities(query.get('fieldSelector') ?? '');
  for (const { key } of fields) {
    if (key !== 'metadata.name' && key !== 'metadata.namespace')
      throw badRequest(`field ${key} cannot be selected by`);
  }
  return ({ metadata }) => {
    const place: Record<string, string> = {
      'metadata.name': metadata.name,
      'metadata.namespace': metadata.namespace,
    };
    return (
      (namespace === undefined || metadata.namespace === namespace) &&
      labels.every(({ key, value, equal }) => (metadata.labels?.[key] === value) === equal) &&
      fields.every(({ key, value, equal }) => (place[key] === value) === equal)
    );
  };
}

interface Equality {
  key: string;
  value: string;
  equal: boolean;
}

function equalities(text: string): Equality[] {
  if (text === '') return [];
  return text.split(',').map((part) => {
    const [, key, operator, value] = /^([^=!]+)(==?|!=)([^=!]*)$/.exec(part) ?? [];
    if (key === undefined) throw badRequest(`"${part}" is not a selector of the form key=value`);
    return { key: key.trim(), value: value!.trim(), equal: operator !== '!=' };
  });
}
