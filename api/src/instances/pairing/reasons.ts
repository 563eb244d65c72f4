const VERSION_REJECTED =
  'a rede não aceita a versão do cliente para conectar aparelhos. O administrador do gateway precisa agir';

/** Texts for consumers, by the engine's reason for a failed pairing. */
const REASONS: Record<string, string> = {
  codes_unread:
    'os códigos expiraram sem que um celular os usasse. Um celular que já tem os quatro aparelhos conectados permitidos não usa nenhum: desconecte um deles',
  passkey_required: 'o celular exige uma chave de acesso (passkey), que um aparelho conectado assim não tem',
  refused_by_the_network: 'a rede recusou o aparelho',
  signature_refused: 'a assinatura da conta não confere',
  no_code_given: 'a rede não deu um código para este número',
  code_refused: 'a rede não aceita um código para este número. Verifique o número, ou use o QR',
  too_many_codes: 'a rede não dá mais códigos a este número por enquanto. Tente mais tarde, ou use o QR',
  version_rejected_405: VERSION_REJECTED,
  version_rejected_409: VERSION_REJECTED,
  version_expected:
    'a rede não aceita a versão do cliente, e o gateway procura uma mais nova. Tente de novo em um minuto',
  timed_out: 'a rede não respondeu a tempo',
  connection_closed: 'a conexão com a rede caiu várias vezes',
};

/** Includes the engine's reason, which the log contains too. */
export function pairingFailure(reason: string): string {
  const words = REASONS[reason];
  const why = words === undefined ? reason : `${words} (${reason})`;
  return `O pareamento terminou sem um aparelho: ${why}.`;
}
