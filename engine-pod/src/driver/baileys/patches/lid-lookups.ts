import type { SignalRepositoryWithLIDStore as Repository } from '@whiskeysockets/baileys';

type LidMapping = Repository['lidMapping'];

const DEVICE = /^(\d+)(:\d+)?@s\.whatsapp\.net$/;

/**
 * Looks a LID up in Baileys' cache at once. Stock looks up a list of LIDs there, with sets and promises, also for one LID
 * and for each access to a session. These lookups were a twelfth of what an engine allocated for a text.
 */
export function shortenLidLookups(lidMapping: LidMapping): void {
  const { mappingCache } = lidMapping as unknown as { mappingCache: { get(name: string): unknown } };
  const stock = lidMapping.getLIDForPN.bind(lidMapping);
  lidMapping.getLIDForPN = async (phoneJid) => {
    const [, user, device = ''] = DEVICE.exec(phoneJid) ?? [];
    const lid = user && mappingCache.get(`pn:${user}`);
    if (typeof lid !== 'string' || lid === '') return stock(phoneJid);
    return `${lid}${device === ':0' ? '' : device}@lid`;
  };
}
