import { Box, Progress, Stack, Text } from '@mantine/core';
import { useInterval } from '@mantine/hooks';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ShownCode } from './use-pairing';

const QR_SECONDS = 20;
const TYPED_SECONDS = 120;

/** The current code with the rest of its time. */
export function CodeView({ code }: { code: ShownCode }) {
  const { t } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  useInterval(() => setNow(Date.now()), 500, { autoInvoke: true });
  const seconds = Math.max(0, Math.ceil((code.expiresAt - now) / 1000));
  const whole = code.image === null ? TYPED_SECONDS : QR_SECONDS;
  return (
    <Stack align="center" gap="sm">
      {code.image === null ? (
        <Text fz={40} fw={700} ff="monospace" lts={4} data-testid="pairing-code">
          {`${code.text.slice(0, 4)}-${code.text.slice(4)}`}
        </Text>
      ) : (
        // Phones scan dark codes on light ground only.
        <Box bg="white" p="md" bdrs="md">
          <img src={code.image} alt={t('pairing.qrAlt')} width={280} height={280} className="qr" />
        </Box>
      )}
      <Progress
        value={Math.min(100, (seconds / whole) * 100)}
        w={280}
        color="teal.7"
        aria-label={t('pairing.remaining')}
        transitionDuration={400}
      />
      <Text size="sm" c="dimmed">
        {seconds > 0 ? t('pairing.expires', { seconds }) : t('pairing.renewing')}
      </Text>
    </Stack>
  );
}
