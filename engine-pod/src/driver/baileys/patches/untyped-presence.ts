import type { AuthenticationCreds, BaileysEventMap, WASocket } from '@whiskeysockets/baileys';

/**
 * Stock Baileys sends a presence with the owner's name and without a type for each update of the credentials that does
 * not contain the stored name, keys included. The network takes it for "available", and the owner's phone shows no
 * notifications from then on. It is sent only if the stored name differs from the name of the update, so this stores
 * the update before Baileys sees it, and adds the stored name.
 * @param onNewName the owner's name has changed
 */
export function preventUntypedPresence(
  { ev, authState }: Pick<WASocket, 'ev' | 'authState'>,
  onNewName: () => void,
): void {
  const emit = ev.emit.bind(ev);
  ev.emit = (name, data) => {
    if (name !== 'creds.update') return emit(name, data);
    const creds: AuthenticationCreds = authState.creds;
    const before = creds.me?.name;
    Object.assign(creds, data as BaileysEventMap['creds.update']);
    const isHandled = emit(name, { ...(data as object), ...(creds.me && { me: creds.me }) } as typeof data);
    if (creds.me?.name !== before) onNewName();
    return isHandled;
  };
}
