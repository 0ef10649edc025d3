#!/bin/sh
# A tool that says for whom it ran.
order=$(sed 's/.*"order": *"\([^"]*\)".*/\1/')
echo "{\"result\":\"refunded $order for $PARLEY_PRINCIPAL $PARLEY_CLAIM_EMAIL\"}"
