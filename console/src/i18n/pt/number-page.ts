export const number = {
  pair: 'Vincular telefone',
  tabs: {
    health: 'Saúde',
    availability: 'Disponibilidade',
    policy: 'Limites',
    try: 'Testar',
    settings: 'Configurações',
  },
  help: {
    pending_pair: 'Nenhum telefone está vinculado. Vincule um para enviar e receber.',
    disconnected: 'A conexão caiu. O gateway tenta de novo sozinho; as mensagens esperam até 15 minutos.',
    logged_out: 'O telefone desvinculou este dispositivo. Vincule de novo para enviar e receber.',
    banned: 'O WhatsApp bloqueou este número. O gateway fica offline até o bloqueio terminar.',
  },
  settings: {
    title: 'Nome e menus',
    help: 'O nome aparece só para a sua equipe.',
    mode: 'Como os menus são enviados',
    modeHelp: 'Menus nativos mostram botões. O texto serve aos aplicativos que não os mostram.',
    modes: {
      'native+text': 'Nativo, com as opções em texto',
      native: 'Só nativo',
      text: 'Só texto',
    },
    otherAccount: 'Quando um celular com outra conta lê o código',
    otherAccountHelp:
      'Depois que outra conta é conectada, mensagens na fila falham e o aquecimento recomeça.',
    otherAccounts: { refuse: 'Recusar', accept: 'Aceitar e começar de novo' },
  },
  connection: {
    title: 'Conexão',
    help: 'Reiniciar fecha a conexão e a abre de novo. Desvincular solta o telefone.',
    restart: 'Reiniciar',
    restarted: 'A conexão está reiniciando.',
    logout: 'Desvincular',
    logoutTitle: 'Desvincular {{name}}?',
    logoutText:
      'O telefone é desvinculado. As mensagens que esperam falham, e alguém precisa vincular um telefone de novo.',
  },
  delete: {
    title: 'Excluir',
    help: 'Desvincula o telefone e exclui o número. As mensagens enviadas não poderão mais ser encontradas.',
    button: 'Excluir número',
    confirm: 'Excluir {{name}}?',
    text: 'Isto não pode ser desfeito.',
  },
};

export const availability = {
  previous: 'Mês anterior',
  next: 'Próximo mês',
  month: 'Conectado {{percent}} do mês.',
  none: 'Sem dados neste mês.',
  noData: 'sem dados',
  noIncidents: 'Nenhum incidente neste mês.',
  incidents: 'Incidentes',
  start: 'Início',
  duration: 'Duração',
  ongoing: 'em andamento',
  reason: 'Motivo',
};

export const policy = {
  intro: {
    instance: 'Limites deste número. Um valor próprio substitui o da conta e o do gateway.',
    account: 'Limites de todos os números desta conta. Um número pode ter valores próprios.',
  },
  own: { instance: 'Valor próprio deste número', account: 'Valor próprio desta conta' },
  sources: { environment: 'do gateway', account: 'da conta', instance: 'deste número' },
  keys: {
    messages_per_minute: {
      title: 'Mensagens por minuto',
      help: 'As demais esperam.',
    },
    new_contacts_per_day: {
      title: 'Contatos novos em 24 horas',
      help: 'Contatos que nunca escreveram a este número. Os demais são recusados.',
    },
    mass_block: {
      title: 'Bloqueio de massa',
      help: 'Recusa quase o mesmo texto a mais contatos novos do que isto dentro do tempo.',
    },
    active_hours: {
      title: 'Horário ativo',
      help: 'Quando contatos que não escreveram nas últimas 24 horas podem receber mensagens.',
    },
    opt_out: {
      title: 'Palavras de descadastro',
      help: 'Um contato que envia uma destas palavras não recebe mais nada.',
    },
    menu_ttl_hours: {
      title: 'Respostas digitadas a menus (horas)',
      help: 'Por quanto tempo o número de uma opção vale como resposta.',
    },
    reject_calls: {
      title: 'Chamadas',
      help: 'Recusa chamadas enquanto tocam e pode responder com um texto.',
    },
  },
  fields: {
    contacts: 'Contatos',
    minutes: 'Minutos',
    limitHours: 'Somente dentro de uma janela',
    start: 'Início',
    end: 'Fim',
    timezone: 'Fuso horário',
    outside: 'Fora da janela',
    schedule: 'Agendar para o início',
    reject: 'Recusar',
    recognise: 'Reconhecer estas palavras',
    keywords: 'Palavras que descadastram',
    resume: 'Palavras que recadastram',
    rejectCalls: 'Recusar chamadas',
    callText: 'Texto a quem chama (opcional)',
  },
};

export const tryIt = {
  sendTitle: 'Enviar mensagem de teste',
  sendHelp: 'Uma mensagem real, sob os limites deste número.',
  to: 'Para (com código do país e de área)',
  text: 'Texto',
  send: 'Enviar',
  accepted: 'Aceita:',
  inboundTitle: 'Simular mensagem recebida',
  inboundHelp: 'O sandbox age como se um contato tivesse escrito. Os webhooks recebem o evento.',
  from: 'De (com código do país e de área)',
  simulate: 'Simular',
  received: 'Evento:',
};

const VERSION_REJECTED =
  'O WhatsApp não vincula dispositivos com a versão do cliente deste gateway. O administrador precisa agir.';

export const pairing = {
  title: 'Vincular telefone a {{name}}',
  method: 'Como vincular',
  qr: 'QR code',
  code: 'Código digitado',
  qrAlt: 'QR code para ler com o telefone',
  remaining: 'Tempo restante do código',
  expires: 'Vale por {{seconds}} s. O próximo código aparece sozinho.',
  renewing: 'O próximo código está chegando.',
  opening: 'Pedindo um código à rede',
  paired: 'O telefone aceitou. Conectando',
  phone: 'Número do telefone',
  phoneHelp: 'Com código do país e de área.',
  ask: 'Obter código',
  failed: 'O telefone não foi vinculado',
  again: 'Tentar de novo',
  connected: 'O telefone está vinculado',
  connectedHelp: '{{name}} está conectado com este número e pode enviar e receber.',
  undo: 'Não é este número: desvincular ({{seconds}} s)',
  undone: 'O telefone foi desvinculado',
  undoneHelp: 'Mostre o próximo código só a quem vincula o telefone.',
  open: 'Abrir o número',
  steps: {
    title: 'No telefone',
    open: 'Abra o WhatsApp e o menu (Android) ou as Configurações (iPhone).',
    devices: 'Toque em Dispositivos conectados e em Conectar dispositivo.',
    scan: 'Aponte a câmera para o código desta página.',
    type: 'Toque em "Conectar com número de telefone" e digite o código.',
  },
  hints: {
    devices: 'Um telefone tem até quatro dispositivos conectados. Desconecte um se o código não for aceito.',
    online: 'O telefone precisa estar online agora e pelo menos uma vez a cada 14 dias.',
    risk: 'O WhatsApp pode restringir ou banir números que usam clientes não oficiais. Comece com poucas mensagens.',
  },
  passkey: {
    title: 'O telefone pede a chave de acesso (passkey)',
    install:
      'Uma vez: adicione a extensão do gwk ao Chrome, ao Edge ou a outro navegador do mesmo tipo. Ela é a pasta "extension" do arquivo de código-fonte da versão do gwk. Não a obtenha deste gateway nem de um chat.',
    press: 'Pressione o botão da extensão na barra de ferramentas do navegador, nesta página.',
    check:
      'Confira o endereço e o número na janela dela e continue. O navegador pede então a chave de acesso da conta do WhatsApp.',
    until: 'Válido até {{time}}. Nunca execute código que alguém enviar para isto.',
    answered: 'A chave de acesso foi dada. Esperando o telefone.',
    elsewhere:
      'O telefone espera até {{time}}. Se outro navegador ou programa iniciou este pareamento, a chave de acesso deve ser dada lá.',
    compare: 'Compare este código com o do telefone.',
    equal: 'Os códigos são iguais',
    different: 'Os códigos são diferentes',
  },
  reasons: {
    codes_unread:
      'Ninguém leu os códigos a tempo. Um telefone com quatro dispositivos conectados não lê nenhum: desconecte um antes.',
    passkey_required:
      'O telefone exige uma chave de acesso, e este gateway não as permite. Use outro telefone.',
    passkey_refused: 'O WhatsApp não aceitou a chave de acesso, ou os códigos eram diferentes.',
    passkey_expired: 'Ninguém respondeu ao pedido da chave de acesso a tempo.',
    passkey_unsupported: 'O WhatsApp pediu a chave de acesso de um modo desconhecido.',
    passkey_interrupted: 'A conexão terminou enquanto a chave de acesso era esperada. Tente de novo.',
    refused_by_the_network: 'O WhatsApp não vincula dispositivos a este número no momento. Tente mais tarde.',
    signature_refused: 'A conta não confirmou o dispositivo. Tente de novo.',
    no_code_given: 'O WhatsApp não deu um código para este número. Confira o número.',
    code_refused: 'O WhatsApp não aceita código digitado para este número. Confira-o ou use o QR code.',
    too_many_codes: 'O WhatsApp não dá mais códigos digitados por enquanto. Espere ou use o QR code.',
    version_rejected_405: VERSION_REJECTED,
    version_rejected_409: VERSION_REJECTED,
    timed_out: 'O WhatsApp não respondeu a tempo. Tente de novo.',
    connection_closed: 'A conexão com o WhatsApp falhou quatro vezes. Tente de novo.',
  },
};
