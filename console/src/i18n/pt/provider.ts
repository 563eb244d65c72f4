export const provider = {
  signIn: 'Entrar com {{name}}',
  failedTitle: 'A entrada não foi concluída',
  failed:
    'Ela foi cancelada, demorou mais de 10 minutos ou começou em outro navegador: comece de novo. Se falhar outra vez, as configurações do provedor no gateway podem estar erradas.',
  again: 'Voltar para a entrada',
};
