import type { SignalRepositoryWithLIDStore as Repository } from '@whiskeysockets/baileys';

type LidMapping = Repository['lidMapping'];

const DEVICE = /^(\d+)(:\d+)?@s\.whatsapp\.net$/;

/**
 * Looks a LID up in Baileys' cache at once. Stock looks there too, but in the way in which it looks up many LIDs, with
 * lists, sets and promises. It does so for each access to a session; a twelfth of what an engine allocated for a text was for
 * that.
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
